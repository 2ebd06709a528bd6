// Produces values to a topic and consumes them, with TLS and SASL: one JSON object as the only argument, and the
// values that came back as a JSON list on standard output.
const fs = require("node:fs");
const { Kafka, logLevel } = require("kafkajs");

const wanted = JSON.parse(process.argv[2]);
const ssl = { ca: [fs.readFileSync(wanted.ca)], cert: fs.readFileSync(wanted.certificate), key: fs.readFileSync(wanted.key) };
const sasl =
  wanted.mechanism === "oauthbearer"
    ? { mechanism: "oauthbearer", oauthBearerProvider: async () => ({ value: wanted.token }) }
    : { mechanism: wanted.mechanism, username: wanted.username, password: wanted.password };
const kafka = new Kafka({ brokers: [wanted.broker], ssl, sasl, logLevel: logLevel.ERROR });

async function main() {
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic: wanted.topic, messages: wanted.values.map((value) => ({ value, partition: 0 })) });
  await producer.disconnect();
  const consumer = kafka.consumer({ groupId: wanted.group });
  await consumer.connect();
  await consumer.subscribe({ topic: wanted.topic, fromBeginning: true });
  const found = [];
  await new Promise((resolve) => {
    consumer.run({
      eachMessage: async ({ message }) => {
        if (found.push(message.value.toString()) === wanted.values.length) resolve();
      },
    });
  });
  await consumer.disconnect();
  process.stdout.write(`${JSON.stringify(found)}\n`);
}

main().catch((failure) => {
  console.error(failure);
  process.exit(1);
});
