// Administers share groups with kadm: does what its standard input says, one command a line, and tells the answer of
// each in one JSON object. The commands are described in go_programs.py, which speaks to it.
//
// What is an id, an epoch or an address is left out: it differs from cluster to cluster.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"kproxy.test/lines"
)

const answerTimeout = 30 * time.Second

type answers []map[string]any

// Argument: BOOTSTRAP_SERVERS.
func main() {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(os.Args[1], ",")...))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	lines.Obey(func(command []string) (string, map[string]any, error) {
		ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
		defer cancel()
		told, err := ask(ctx, admin, command[0], command[1:])
		return "told", map[string]any{"answers": told}, err
	})
}

func ask(ctx context.Context, admin *kadm.Client, command string, words []string) (answers, error) {
	switch command {
	case "list":
		return list(ctx, admin, words)
	case "describe":
		return describe(ctx, admin, words)
	case "offsets":
		return offsets(ctx, admin, words)
	case "alter":
		return alter(ctx, admin, words[0], words[1:])
	case "delete-offsets":
		return deleteOffsets(ctx, admin, words[0], words[1:])
	case "delete":
		return deleteGroups(ctx, admin, words)
	case "close":
		return answers{}, nil
	}
	return nil, fmt.Errorf("unknown command %s", command)
}

func list(ctx context.Context, admin *kadm.Client, states []string) (answers, error) {
	listed, err := admin.ListGroupsByType(ctx, []string{"share"}, states...)
	told := answers{}
	for _, group := range listed.Sorted() {
		told = append(told, map[string]any{
			"group_id": group.Group, "protocol_type": group.ProtocolType, "state": group.State,
		})
	}
	return told, err
}

func describe(ctx context.Context, admin *kadm.Client, groups []string) (answers, error) {
	described, err := admin.DescribeShareGroups(ctx, groups...)
	told := answers{}
	for _, group := range described.Sorted() {
		members := answers{}
		for _, member := range group.Members {
			members = append(members, map[string]any{
				"member_id": member.MemberID, "client_id": member.ClientID, "client_host": member.ClientHost,
				"rack_id": member.RackID, "topics": member.SubscribedTopicNames,
				"assignment": member.Assignment.Sorted(),
			})
		}
		told = append(told, map[string]any{
			"group_id": group.GroupID, "state": group.GroupState, "assignor": group.Assignor, "members": members,
			"error": errorName(group.Err),
		})
	}
	return told, err
}

func offsets(ctx context.Context, admin *kadm.Client, groups []string) (answers, error) {
	described, err := admin.DescribeShareGroupOffsets(ctx, groups...)
	told := answers{}
	for _, group := range described.Sorted() {
		partitions := answers{}
		for _, partition := range group.Offsets.Sorted() {
			partitions = append(partitions, map[string]any{
				"topic": partition.Topic, "partition": partition.Partition, "start_offset": partition.StartOffset,
				"lag": partition.Lag, "leader_epoch": partition.LeaderEpoch, "error": errorName(partition.Err),
			})
		}
		told = append(told, map[string]any{
			"group_id": group.Group, "partitions": partitions, "error": errorName(group.Err),
		})
	}
	return told, err
}

func alter(ctx context.Context, admin *kadm.Client, group string, wanted []string) (answers, error) {
	asked := kadm.Offsets{}
	for _, written := range wanted {
		var partition, offset int64
		parts := strings.Split(written, "@")
		partition, err := strconv.ParseInt(parts[1], 10, 32)
		if err == nil {
			offset, err = strconv.ParseInt(parts[2], 10, 64)
		}
		if err != nil {
			return nil, err
		}
		asked.AddOffset(parts[0], int32(partition), offset, -1)
	}
	altered, err := admin.AlterShareGroupOffsets(ctx, group, asked)
	told := answers{}
	for topic, partitions := range altered {
		for partition, failure := range partitions {
			told = append(told, map[string]any{
				"topic": topic, "partition": partition, "error": errorName(failure),
			})
		}
	}
	return told, err
}

func deleteOffsets(ctx context.Context, admin *kadm.Client, group string, topics []string) (answers, error) {
	deleted, err := admin.DeleteShareGroupOffsets(ctx, group, topics...)
	told := answers{}
	for topic, failure := range deleted {
		told = append(told, map[string]any{"topic": topic, "error": errorName(failure)})
	}
	return told, err
}

func deleteGroups(ctx context.Context, admin *kadm.Client, groups []string) (answers, error) {
	deleted, err := admin.DeleteGroups(ctx, groups...)
	told := answers{}
	for _, group := range deleted.Sorted() {
		told = append(told, map[string]any{"group_id": group.Group, "error": errorName(group.Err)})
	}
	return told, err
}

func errorName(err error) any {
	if err == nil {
		return nil
	}
	return lines.ErrorName(err)
}
