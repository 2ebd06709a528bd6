/*
 * kafkajs: JavaScript on Node.js, the client that has seen no release since 2023 and speaks the oldest versions.
 *
 * Arguments: BOOTSTRAP_SERVERS BROKER_COUNT SCENARIO… Each scenario ends in one line
 * {"scenario": …, "error": …, "seconds": …}, where an empty error means that it passed.
 */
'use strict'

const assert = require('node:assert/strict')
const { setTimeout: pause } = require('node:timers/promises')
const zlib = require('node:zlib')
const { promisify } = require('node:util')
const {
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  CompressionCodecs,
  CompressionTypes,
  ConfigResourceTypes,
  Kafka,
  logLevel,
  ResourcePatternTypes,
} = require('kafkajs')
const SnappyCodec = require('kafkajs-snappy')
const lz4 = require('lz4js')

const ANSWER_TIMEOUT_MS = 30_000
const POLL_MS = 50
const FOLLOWED_COUNT = 100
const LZ4_BLOCK_BYTES = 65_536
// A consumer notices that it should stop, or rebalance, between two fetches only.
const QUICK = { maxWaitTimeInMs: 200, heartbeatInterval: 300 }
const COMPRESSIONS = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
}

// kafkajs brings gzip only, and takes others as plug-ins.
CompressionCodecs[CompressionTypes.Snappy] = SnappyCodec
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: async encoder => lz4Frame(encoder.buffer),
  decompress: async buffer => Buffer.from(lz4.decompress(buffer)),
})
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async encoder => promisify(zlib.zstdCompress)(encoder.buffer),
  decompress: async buffer => promisify(zlib.zstdDecompress)(buffer),
})

/** An LZ4 frame of independent blocks, which brokers insist on; lz4js writes linked ones. */
function lz4Frame(buffer) {
  const chunks = [Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82])]
  for (let start = 0; start < buffer.length; start += LZ4_BLOCK_BYTES) {
    const plain = buffer.subarray(start, start + LZ4_BLOCK_BYTES)
    const room = lz4.makeBuffer(lz4.compressBound(plain.length))
    const size = lz4.compressBlock(plain, room, 0, plain.length, new Uint32Array(65536))
    const block = size > 0 ? Buffer.from(room).subarray(0, size) : plain
    chunks.push(uint32(size > 0 ? size : plain.length | 0x80000000), block)
  }
  return Buffer.concat([...chunks, uint32(0)])
}

function uint32(number) {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(number >>> 0)
  return bytes
}

const [bootstrapServers, brokerCount, ...scenarios] = process.argv.slice(2)
const nodeIds = Array.from({ length: Number(brokerCount) }, (_, index) => index + 1)
const kafka = new Kafka({ clientId: 'probe', brokers: bootstrapServers.split(','), logLevel: logLevel.NOTHING })

let lastNumber = 0
const uniqueName = label => `${label}-${process.pid}-${++lastNumber}`
const values = (label, count = 60) =>
  Array.from({ length: count }, (_, number) => `${label} ${String(number).padStart(4, '0')} `.repeat(8))

/** Let `use` have a connected admin, producer or consumer, and disconnect it after that. */
async function using(connected, use) {
  await connected.connect()
  try {
    return await use(connected)
  } finally {
    await connected.disconnect()
  }
}

const withAdmin = use => using(kafka.admin({ retry: { retries: 8 } }), use)

async function eventually(isSo, what) {
  const deadline = Date.now() + ANSWER_TIMEOUT_MS
  while (!(await isSo())) {
    assert(Date.now() < deadline, what)
    await pause(POLL_MS)
  }
}

async function newTopic(partitions = 1) {
  const topic = uniqueName('kafkajs')
  await withAdmin(admin =>
    admin.createTopics({
      topics: [{ topic, numPartitions: partitions, replicationFactor: nodeIds.length }],
      waitForLeaders: false,
    })
  )
  const { brokers } = await withAdmin(admin => admin.describeCluster())
  for (const broker of brokers) await untilKnownAt(broker, topic, partitions)
  return topic
}

/** Clients ask any broker, and one of three may not have heard yet of a topic or of its leaders. */
async function untilKnownAt({ host, port }, topic, partitions) {
  // Whoever knows one broker only asks that one.
  const asking = new Kafka({ brokers: [`${host}:${port}`], logLevel: logLevel.NOTHING }).admin({ retry: { retries: 0 } })
  const isKnown = async () => {
    try {
      const { topics } = await asking.fetchTopicMetadata({ topics: [topic] })
      const known = topics[0].partitions
      return known.length === partitions && known.every(({ isr, replicas }) => isr.length === replicas.length)
    } catch {
      return false
    }
  }
  await using(asking, () => eventually(isKnown, `${host}:${port} knows ${topic}`))
}

async function describedPartitions(topic) {
  const { topics } = await withAdmin(admin => admin.fetchTopicMetadata({ topics: [topic] }))
  return topics[0].partitions
}

/** The offsets of the first record of each request. */
async function produce(topic, payloads, { partition = 0, settings = {}, ...options } = {}) {
  return using(kafka.producer(settings), producer => send(producer, topic, payloads, { partition, ...options }))
}

async function send(producer, topic, payloads, { partition = 0, compression = CompressionTypes.None } = {}) {
  const messages = payloads.map(value => ({ value, partition }))
  const answers = await producer.send({ topic, messages, compression, acks: -1 })
  return answers.map(answer => Number(answer.baseOffset))
}

/** Members of a group, joined when this returns; `received` grows as they consume. */
async function startMember(groupId, topic, settings = {}) {
  const consumer = kafka.consumer({ groupId, ...QUICK, ...settings })
  const member = { consumer, received: [], partitions: [] }
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    member.partitions = payload.memberAssignment[topic] ?? []
  })
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await consumer.run({
    autoCommitInterval: 100,
    eachMessage: async ({ message }) => {
      member.received.push(message.value.toString())
    },
  })
  return member
}

const stopMember = async member => {
  await member.consumer.stop()
  await member.consumer.disconnect()
}

/** Exactly these values, from a group of its own. */
async function expectValues(topic, expected, settings = {}) {
  const member = await startMember(uniqueName('reader'), topic, settings)
  try {
    await eventually(() => member.received.length >= expected.length, `consumed ${member.received.length}`)
    assert.deepEqual(member.received, expected)
  } finally {
    await stopMember(member)
  }
}

const compressionCheck = codec => async () => {
  const topic = await newTopic()
  const sent = values(codec)
  await produce(topic, sent, { compression: COMPRESSIONS[codec] })
  await expectValues(topic, sent)
}

/** Two members share the partitions; one that comes after them goes on where they committed. */
async function classicGroup() {
  const topic = await newTopic(2)
  const group = uniqueName('group')
  const members = [await startMember(group, topic), await startMember(group, topic)]
  try {
    await eventually(() => members.every(member => member.partitions.length === 1), 'each has a partition')
    for (const partition of [0, 1]) await produce(topic, values(`p${partition}`, 10), { partition })
    await eventually(() => members.every(member => member.received.length === 10), 'each got its records')
  } finally {
    for (const member of members) await stopMember(member)
  }
  await produce(topic, values('later', 10))
  const third = await startMember(group, topic)
  try {
    await eventually(() => third.received.length >= 10, `the third got ${third.received.length} records`)
    assert.deepEqual(third.received, values('later', 10))
  } finally {
    await stopMember(third)
  }
}

async function idempotence() {
  const topic = await newTopic()
  const settings = { idempotent: true, maxInFlightRequests: 1 }
  const offsets = await using(kafka.producer(settings), async producer => [
    ...(await send(producer, topic, values('once', 10))),
    ...(await send(producer, topic, values('again', 10))),
  ])
  assert.deepEqual(offsets, [0, 10])
  await expectValues(topic, [...values('once', 10), ...values('again', 10)])
}

async function transactions() {
  const [source, target, group] = [await newTopic(), await newTopic(), uniqueName('group')]
  const [kept, dropped, later] = ['kept', 'dropped', 'later'].map(label => values(label, 10))
  const settings = { transactionalId: uniqueName('transactional'), idempotent: true, maxInFlightRequests: 1 }
  await using(kafka.producer(settings), async producer => {
    const first = await producer.transaction()
    await send(first, target, kept)
    const topics = [{ topic: source, partitions: [{ partition: 0, offset: '1' }] }]
    await first.sendOffsets({ consumerGroupId: group, topics })
    await first.commit()
    const second = await producer.transaction()
    await send(second, target, dropped)
    await second.abort()
    const third = await producer.transaction()
    await send(third, target, later)
    await third.commit()
  })
  await expectValues(target, [...kept, ...later], { readUncommitted: false })
  await expectValues(target, [...kept, ...dropped, ...later], { readUncommitted: true })
  // Kafka 2.8 shows what a transaction committed some time after its end was answered.
  const isCommitted = admin => async () => {
    const offsets = await admin.fetchOffsets({ groupId: group, topics: [source] })
    return offsets[0].partitions[0].offset === '1'
  }
  await withAdmin(admin => eventually(isCommitted(admin), 'offset committed in the transaction'))
}

/** Most fetches are answered by the follower in the consumer's rack, as the client's own events say. */
async function followerFetching() {
  const topic = await newTopic()
  const [{ leader }] = await describedPartitions(topic)
  const follower = nodeIds.find(nodeId => nodeId !== leader)
  const sent = Array.from({ length: FOLLOWED_COUNT }, () => 'f'.repeat(20_000))
  for (let start = 0; start < sent.length; start += 10) await produce(topic, sent.slice(start, start + 10))
  const bytes = {}
  const settings = { rackId: `rack-${follower}`, maxBytesPerPartition: 100_000, maxBytes: 100_000 }
  const consumer = kafka.consumer({ groupId: uniqueName('reader'), ...QUICK, ...settings })
  consumer.on(consumer.events.REQUEST, ({ payload }) => {
    bytes[payload.broker] = (bytes[payload.broker] ?? 0) + (payload.apiName === 'Fetch' ? payload.size : 0)
  })
  let received = 0
  await consumer.connect()
  try {
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    await consumer.run({ eachMessage: async () => void received++ })
    await eventually(() => received >= sent.length, `consumed ${received}`)
  } finally {
    await consumer.stop()
    await consumer.disconnect()
  }
  const { brokers } = await withAdmin(admin => admin.describeCluster())
  const { host, port } = brokers.find(broker => broker.nodeId === follower)
  const fromFollower = bytes[`${host}:${port}`] ?? 0
  assert(fromFollower > 1_000_000, `bytes ${JSON.stringify(bytes)}, follower ${host}:${port}`)
}

async function topics() {
  const topic = await newTopic(2)
  const partitions = await describedPartitions(topic)
  assert.equal(partitions.length, 2)
  assert.equal(partitions[0].replicas.length, nodeIds.length)
  await withAdmin(async admin => {
    await admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] })
    await eventually(async () => (await describedPartitions(topic)).length === 3, '3 partitions')
    await admin.deleteTopics({ topics: [topic] })
    await eventually(async () => !(await admin.listTopics()).includes(topic), 'it is deleted')
  })
}

async function cluster() {
  const described = await withAdmin(admin => admin.describeCluster())
  assert.deepEqual(described.brokers.map(broker => broker.nodeId).sort(), nodeIds)
  assert(described.clusterId)
}

async function configs() {
  const topic = await newTopic()
  const config = (answer, name) => answer.resources[0].configEntries.find(entry => entry.configName === name)
  await withAdmin(async admin => {
    const type = ConfigResourceTypes.TOPIC
    const configEntries = [{ name: 'retention.ms', value: '123456' }]
    await admin.alterConfigs({ validateOnly: false, resources: [{ type, name: topic, configEntries }] })
    const isChanged = async () => {
      const answer = await admin.describeConfigs({ resources: [{ type, name: topic }], includeSynonyms: false })
      return config(answer, 'retention.ms').configValue === '123456'
    }
    await eventually(isChanged, 'retention.ms is changed')
    for (const nodeId of nodeIds) {
      const resources = [{ type: ConfigResourceTypes.BROKER, name: String(nodeId) }]
      const answer = await admin.describeConfigs({ resources, includeSynonyms: false })
      assert.equal(config(answer, 'broker.rack').configValue, `rack-${nodeId}`)
    }
  })
}

async function groups() {
  const topic = await newTopic()
  const groupId = uniqueName('group')
  await produce(topic, values('x', 5))
  await withAdmin(async admin => {
    const isListed = async () => (await admin.listGroups()).groups.some(group => group.groupId === groupId)
    const member = await startMember(groupId, topic)
    try {
      await eventually(() => member.received.length === 5, 'consumed 5')
      assert(await isListed(), 'the group is listed')
      const described = await admin.describeGroups([groupId])
      assert.equal(described.groups[0].members.length, 1)
    } finally {
      await stopMember(member)
    }
    const offsets = await admin.fetchOffsets({ groupId, topics: [topic] })
    assert.equal(offsets[0].partitions[0].offset, '5')
    await admin.deleteGroups([groupId])
    await eventually(async () => !(await isListed()), 'the group is deleted')
  })
}

async function acls() {
  const resourceName = uniqueName('guarded')
  const pattern = {
    resourceType: AclResourceTypes.TOPIC,
    resourceName,
    resourcePatternType: ResourcePatternTypes.LITERAL,
  }
  const acl = {
    ...pattern,
    principal: 'User:alice',
    host: '*',
    operation: AclOperationTypes.READ,
    permissionType: AclPermissionTypes.ALLOW,
  }
  const every = { ...pattern, operation: AclOperationTypes.ANY, permissionType: AclPermissionTypes.ANY }
  await withAdmin(async admin => {
    const found = async () => (await admin.describeAcls(every)).resources
    await admin.createAcls({ acl: [acl] })
    const isListed = async () => (await found())[0]?.acls[0].principal === 'User:alice'
    await eventually(isListed, 'the ACL is listed')
    const deleted = await admin.deleteAcls({ filters: [every] })
    assert.equal(deleted.filterResponses[0].matchingAcls.length, 1)
    await eventually(async () => (await found()).length === 0, 'the ACL is gone')
  })
}

async function reassignment() {
  const topic = await newTopic()
  await produce(topic, values('moved'))
  await withAdmin(async admin => {
    const goal = [{ partition: 0, replicas: [2] }]
    await admin.alterPartitionReassignments({ topics: [{ topic, partitionAssignment: goal }] })
    const ongoing = () => admin.listPartitionReassignments({ topics: [{ topic, partitions: [0] }] })
    await eventually(async () => (await ongoing()).topics.length === 0, 'it is done')
    const isMoved = async () => String((await describedPartitions(topic))[0].replicas) === '2'
    await eventually(isMoved, 'the replica moved')
  })
  await expectValues(topic, values('moved'))
}

const CHECKS = {
  ...Object.fromEntries(Object.keys(COMPRESSIONS).map(codec => [codec, compressionCheck(codec)])),
  'classic-group': classicGroup,
  idempotence,
  transactions,
  'follower-fetching': followerFetching,
  topics,
  cluster,
  configs,
  groups,
  acls,
  reassignment,
}

async function errorOf(check) {
  try {
    await check()
    return ''
  } catch (error) {
    return String(error.stack).slice(0, 1500)
  }
}

async function main() {
  for (const scenario of scenarios) {
    const started = Date.now()
    const error = await errorOf(CHECKS[scenario])
    console.log(JSON.stringify({ scenario, error, seconds: (Date.now() - started) / 1000 }))
  }
}

main()
