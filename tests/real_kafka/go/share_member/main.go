// A member of a share group that does what its standard input says, one command a line, and tells what came of it in
// JSON objects, one a line. The commands and answers are described in share_member.py, which speaks to it.
//
// Two things franz-go does not have: an asynchronous commit (it sends acknowledgements by itself, soon after they are
// made), and the offsets that an answer is about ("answered" is never told).
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"kproxy.test/lines"
)

type recordID struct {
	topic     string
	partition int32
	offset    int64
}

type partitionID struct {
	topic     string
	partition int32
}

type member struct {
	client         *kgo.Client
	unacknowledged map[recordID]*kgo.Record

	mu sync.Mutex
	// What the broker said of each partition since the last commit; an error is not overwritten.
	outcomes map[partitionID]error
}

var acknowledgeTypes = map[string]kgo.AckStatus{
	"ACCEPT":  kgo.AckAccept,
	"RELEASE": kgo.AckRelease,
	"REJECT":  kgo.AckReject,
	"RENEW":   kgo.AckRenew,
}

// Arguments: BOOTSTRAP_SERVERS GROUP TOPIC[,TOPIC] [KEY=VALUE]..., with the keys of Java's client.
func main() {
	probe := &member{unacknowledged: map[recordID]*kgo.Record{}, outcomes: map[partitionID]error{}}
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(os.Args[1], ",")...),
		kgo.ShareGroup(os.Args[2]),
		kgo.ConsumeTopics(strings.Split(os.Args[3], ",")...),
		kgo.ShareAckCallback(probe.note),
		kgo.MetadataMinAge(100 * time.Millisecond),
	}
	for _, setting := range os.Args[4:] {
		options = append(options, option(setting))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	probe.client = client
	lines.Tell("ready", nil)
	lines.Obey(probe.obey)
}

func option(setting string) kgo.Opt {
	key, value, _ := strings.Cut(setting, "=")
	switch {
	case key == "max.poll.records":
		count, err := strconv.ParseInt(value, 10, 32)
		if err == nil {
			return kgo.ShareMaxRecords(int32(count))
		}
	case key == "share.acquire.mode" && value == "record_limit":
		return kgo.ShareMaxRecordsStrict()
	case key == "client.id":
		return kgo.ClientID(value)
	}
	fmt.Fprintln(os.Stderr, "not a setting of this member:", setting)
	os.Exit(2)
	return nil
}

func (m *member) obey(command []string) (string, map[string]any, error) {
	switch command[0] {
	case "poll":
		return m.poll(lines.Milliseconds(command[1]))
	case "ack":
		return m.acknowledge(command[1], command[2], command[3], strings.Split(command[4], ","))
	case "ackall":
		return m.acknowledgeAll(acknowledgeTypes[command[1]])
	case "commit":
		return m.commit(lines.Milliseconds(command[1]))
	case "commit-async":
		return "commit_started", nil, nil
	case "subscribe":
		return m.subscribe(strings.Split(command[1], ","))
	case "close":
		return m.close(lines.Milliseconds(command[1]))
	}
	return "", nil, fmt.Errorf("unknown command %s", command[0])
}

func (m *member) poll(timeout time.Duration) (string, map[string]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	fetches := m.client.PollFetches(ctx)
	for _, failure := range fetches.Errors() {
		if !errors.Is(failure.Err, context.DeadlineExceeded) {
			return "", nil, failure.Err
		}
	}
	// Those of the last poll that are not acknowledged yet have been accepted by this one.
	clear(m.unacknowledged)
	for _, record := range fetches.Records() {
		m.unacknowledged[recordID{record.Topic, record.Partition, record.Offset}] = record
		lines.Tell("record", map[string]any{
			"topic":          record.Topic,
			"partition":      record.Partition,
			"offset":         record.Offset,
			"key":            text(record.Key),
			"value":          text(record.Value),
			"delivery_count": record.DeliveryCount(),
		})
	}
	return "polled", map[string]any{"count": fetches.NumRecords()}, nil
}

func (m *member) acknowledge(how, topic, partition string, offsets []string) (string, map[string]any, error) {
	index, err := strconv.ParseInt(partition, 10, 32)
	if err != nil {
		return "", nil, err
	}
	for _, written := range offsets {
		offset, err := strconv.ParseInt(written, 10, 64)
		if err != nil {
			return "", nil, err
		}
		id := recordID{topic, int32(index), offset}
		record, is := m.unacknowledged[id]
		if !is {
			return "", nil, fmt.Errorf("no record %v is waiting for its acknowledgement", id)
		}
		m.say(acknowledgeTypes[how], id, record)
	}
	return "acknowledged", map[string]any{"count": len(offsets)}, nil
}

func (m *member) acknowledgeAll(how kgo.AckStatus) (string, map[string]any, error) {
	count := len(m.unacknowledged)
	for id, record := range m.unacknowledged {
		m.say(how, id, record)
	}
	return "acknowledged", map[string]any{"count": count}, nil
}

func (m *member) say(how kgo.AckStatus, id recordID, record *kgo.Record) {
	record.Ack(how)
	if how != kgo.AckRenew {
		delete(m.unacknowledged, id)
	}
}

func (m *member) commit(timeout time.Duration) (string, map[string]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := m.client.FlushAcks(ctx); err != nil {
		return "", nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	partitions := []map[string]any{}
	for id, outcome := range m.outcomes {
		said := map[string]any{"topic": id.topic, "partition": id.partition, "error": nil}
		if outcome != nil {
			said["error"] = lines.ErrorName(outcome)
		}
		partitions = append(partitions, said)
	}
	clear(m.outcomes)
	return "committed", map[string]any{"partitions": partitions}, nil
}

func (m *member) note(_ *kgo.Client, results kgo.ShareAckResults) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, result := range results {
		id := partitionID{result.Topic, result.Partition}
		if m.outcomes[id] == nil {
			m.outcomes[id] = result.Err
		}
	}
}

func (m *member) subscribe(topics []string) (string, map[string]any, error) {
	m.client.PurgeTopicsFromConsuming(m.client.GetConsumeTopics()...)
	m.client.AddConsumeTopics(topics...)
	return "subscribed", nil, nil
}

func (m *member) close(timeout time.Duration) (string, map[string]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	err := m.client.LeaveGroupContext(ctx)
	m.client.Close()
	return "closed", nil, err
}

func text(bytes []byte) any {
	if bytes == nil {
		return nil
	}
	return string(bytes)
}
