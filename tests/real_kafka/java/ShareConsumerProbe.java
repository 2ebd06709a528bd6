import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A member of a share group that does what its standard input says, one command a line, and tells what came of it
 * in JSON objects, one a line. The commands and answers are described in share_member.py, which speaks to it.
 */
public final class ShareConsumerProbe {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final PrintStream answers;
    private final KafkaShareConsumer<byte[], byte[]> consumer;
    private final Map<RecordId, ConsumerRecord<byte[], byte[]>> unacknowledged = new LinkedHashMap<>();

    private record RecordId(String topic, int partition, long offset) { }

    private ShareConsumerProbe(Properties settings, List<String> topics, PrintStream answers) {
        this.answers = answers;
        this.consumer = new KafkaShareConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        this.consumer.setAcknowledgementCommitCallback(this::tellAnsweredAcknowledgements);
        this.consumer.subscribe(topics);
    }

    /** Arguments: {@code BOOTSTRAP_SERVERS GROUP TOPIC[,TOPIC] [KEY=VALUE]...}. */
    public static void main(String[] arguments) throws IOException {
        Properties settings = new Properties();
        settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        settings.put(ConsumerConfig.GROUP_ID_CONFIG, arguments[1]);
        settings.put(ConsumerConfig.SHARE_ACKNOWLEDGEMENT_MODE_CONFIG, "explicit");
        for (String setting : Arrays.asList(arguments).subList(3, arguments.length)) {
            String[] keyAndValue = setting.split("=", 2);
            settings.put(keyAndValue[0], keyAndValue[1]);
        }
        PrintStream answers =
            new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        new ShareConsumerProbe(settings, List.of(arguments[2].split(",")), answers).obeyUntilClosed();
    }

    private void obeyUntilClosed() throws IOException {
        var commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        tell("ready", Map.of());
        String line = commands.readLine();
        while (line != null && !line.startsWith("close ")) {
            obeyOrTellWhyNot(line.split(" "));
            line = commands.readLine();
        }
        if (line != null) {
            close(line.split(" "));
        }
    }

    private void obeyOrTellWhyNot(String[] command) throws IOException {
        try {
            obey(command);
        } catch (RuntimeException error) {
            tellError(error);
        }
    }

    private void obey(String[] command) throws IOException {
        switch (command[0]) {
            case "poll" -> poll(milliseconds(command[1]));
            case "ack" -> acknowledge(command);
            case "ackall" -> acknowledgeAll(AcknowledgeType.valueOf(command[1]));
            case "commit" -> commit(milliseconds(command[1]));
            case "commit-async" -> {
                consumer.commitAsync();
                tell("commit_started", Map.of());
            }
            case "subscribe" -> {
                consumer.subscribe(List.of(command[1].split(",")));
                tell("subscribed", Map.of());
            }
            default -> throw new IllegalArgumentException("unknown command " + command[0]);
        }
    }

    private void poll(Duration timeout) throws IOException {
        int count = 0;
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(timeout)) {
            unacknowledged.put(new RecordId(record.topic(), record.partition(), record.offset()), record);
            tellRecord(record);
            count++;
        }
        tell("polled", Map.of("count", count));
    }

    private void acknowledge(String[] command) throws IOException {
        AcknowledgeType type = AcknowledgeType.valueOf(command[1]);
        int partition = Integer.parseInt(command[3]);
        for (String offset : command[4].split(",")) {
            acknowledge(new RecordId(command[2], partition, Long.parseLong(offset)), type);
        }
        tell("acknowledged", Map.of("count", command[4].split(",").length));
    }

    private void acknowledgeAll(AcknowledgeType type) throws IOException {
        List<RecordId> held = new ArrayList<>(unacknowledged.keySet());
        for (RecordId id : held) {
            acknowledge(id, type);
        }
        tell("acknowledged", Map.of("count", held.size()));
    }

    private void acknowledge(RecordId id, AcknowledgeType type) {
        ConsumerRecord<byte[], byte[]> record = unacknowledged.remove(id);
        if (record != null) {
            consumer.acknowledge(record, type);
        } else {
            consumer.acknowledge(id.topic(), id.partition(), id.offset(), type);
        }
    }

    private void commit(Duration timeout) throws IOException {
        List<Map<String, Object>> partitions = new ArrayList<>();
        Map<TopicIdPartition, Optional<KafkaException>> outcomes = consumer.commitSync(timeout);
        outcomes.forEach((partition, error) ->
            partitions.add(describe(partition.topicPartition(), error.map(ShareConsumerProbe::errorName).orElse(null))));
        tell("committed", Map.of("partitions", partitions));
    }

    private void close(String[] command) throws IOException {
        try {
            consumer.close(milliseconds(command[1]));
            tell("closed", Map.of());
        } catch (RuntimeException error) {
            tellError(error);
        }
    }

    private void tellAnsweredAcknowledgements(Map<TopicIdPartition, Set<Long>> offsets, Exception error) {
        offsets.forEach((partition, answered) -> {
            Map<String, Object> keys = describe(partition.topicPartition(), error == null ? null : errorName(error));
            keys.put("offsets", answered.stream().sorted().toList());
            try {
                tell("answered", keys);
            } catch (IOException problem) {
                throw new IllegalStateException(problem);
            }
        });
    }

    private void tellRecord(ConsumerRecord<byte[], byte[]> record) throws IOException {
        Map<String, Object> keys = new HashMap<>();
        keys.put("topic", record.topic());
        keys.put("partition", record.partition());
        keys.put("offset", record.offset());
        keys.put("key", text(record.key()));
        keys.put("value", text(record.value()));
        keys.put("delivery_count", record.deliveryCount().map(Short::intValue).orElse(null));
        tell("record", keys);
    }

    private void tellError(RuntimeException error) throws IOException {
        tell("error", Map.of("error", errorName(error), "message", String.valueOf(error.getMessage())));
    }

    private void tell(String event, Map<String, ?> keys) throws IOException {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("event", event);
        answer.putAll(keys);
        answers.println(JSON.writeValueAsString(answer));
        answers.flush();
    }

    private static Map<String, Object> describe(TopicPartition partition, String error) {
        Map<String, Object> keys = new LinkedHashMap<>();
        keys.put("topic", partition.topic());
        keys.put("partition", partition.partition());
        keys.put("error", error);
        return keys;
    }

    /** Kafka's name of the error where the protocol has one, else the exception's own. */
    private static String errorName(Exception error) {
        Errors known = Errors.forException(error);
        return known == Errors.UNKNOWN_SERVER_ERROR ? error.getClass().getSimpleName() : known.name();
    }

    private static String text(byte[] bytes) {
        return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
    }

    private static Duration milliseconds(String text) {
        return Duration.ofMillis(Long.parseLong(text));
    }
}
