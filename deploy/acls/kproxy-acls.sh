#!/usr/bin/env bash
# Gives kproxy's principal the rights that it needs on a cluster with an authorizer, by Kafka's own kafka-acls.sh:
#
#   kproxy-acls.sh --bootstrap-server broker1:9092 [--command-config admin.properties] [--principal User:kproxy] TOPIC...
#
# TOPIC is one that share groups consume; with a star behind it, all that begin so; '*' alone is every topic.
#
# KAFKA_ACLS        the tool (kafka-acls.sh); "echo kafka-acls.sh" only shows the commands
# NAMES             what the names of the state topics, of the fleet's group and of the transactional ids begin with
#                   (__kproxy_share, which is so unless kproxy.state.topic.name or kproxy.groups.topic.name is set)
set -euo pipefail

usage() {
    sed -n '2,/^set /{/^#/p}' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//' >&2
    exit 2
}

read -r -a acls <<<"${KAFKA_ACLS:-kafka-acls.sh}"
names=${NAMES:-__kproxy_share}
principal=User:kproxy
connection=()
topics=()
while (($#)); do
    case $1 in
    --bootstrap-server | --command-config)
        (($# > 1)) || usage
        connection+=("$1" "$2")
        shift 2
        ;;
    --principal)
        (($# > 1)) || usage
        principal=$2
        shift 2
        ;;
    -*) usage ;;
    *)
        topics+=("$1")
        shift
        ;;
    esac
done
[[ " ${connection[*]-} " == *" --bootstrap-server "* ]] || usage
if ((${#topics[@]} == 0)); then
    echo "kproxy-acls.sh: name the topics that share groups consume; '*' is all of them" >&2
    exit 2
fi

allow() { # what of which pattern, operations
    local -a resource=("$1" "$2" --resource-pattern-type "$3") operations=()
    shift 3
    for operation in "$@"; do operations+=(--operation "$operation"); done
    "${acls[@]}" "${connection[@]}" --add --allow-principal "$principal" "${resource[@]}" "${operations[@]}"
}

# The two topics of the state log: made, read, written, and pruned.
allow --topic "$names" prefixed Read Write Create Delete DescribeConfigs
# The group by which several kproxies know of each other.
allow --group "$names" prefixed Read
# Transactional ids, of which only the fences are used: one writer for each slot.
allow --transactional-id "$names" prefixed Write
# Ids of other groups: whether one is taken by a group of another type.
allow --group '*' literal Describe
# The access control lists, by which share groups are decided (kproxy.authorizer.source=acls).
"${acls[@]}" "${connection[@]}" --add --allow-principal "$principal" --cluster --operation Describe
# What share groups consume. Clients produce, and consume by other groups, with rights of their own.
for topic in "${topics[@]}"; do
    if [[ $topic == '*' || $topic != *'*' ]]; then
        allow --topic "$topic" literal Read
    else
        allow --topic "${topic%'*'}" prefixed Read
    fi
done
