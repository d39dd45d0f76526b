import { spawn, spawnSync } from 'node:child_process'
import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { createRandom } from '../../../lib/base/random.ts'
import { decodedLine, encodedLine } from '../../../lib/cli/commands/decode.ts'
import { Engine } from '../../../lib/etcd-server/engine/engine.ts'
import { createDirectScheduler } from '../../../lib/etcd-server/engine/scheduler.ts'
import { GrpcClient } from '../../../lib/etcd/grpc/client.ts'
import { startEtcdServer } from '../../../lib/etcd-server/server.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { loadVectors } from '../../codec/transcode/vectors.ts'
import { programFlags } from '../../support/program/program-flags.ts'

const json =
  '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"key":"\\u003cvalue\\u003e"}}'
const value = encodedValue(json)

function encodedValue(text: string): Buffer {
  const line = JSON.parse(encodedLine(JSON.stringify({ json: text }))) as { value: string }
  return Buffer.from(line.value, 'base64')
}

function watchglass(
  input: string | Buffer,
  ...args: string[]
): { status: number | null; stdout: Buffer; stderr: string } {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [...programFlags(), '.', ...args],
    { input },
  )
  return { status, stdout, stderr: stderr.toString() }
}

t.test('decode prints a stored value in the form that is asked for, encode the value', async t => {
  t.match(watchglass(value, 'decode'), { status: 0, stdout: Buffer.from(`${json}\n`) })
  const pretty = watchglass(value, 'decode', '--output', 'pretty').stdout.toString()
  t.match(pretty, '{\n  "kind": "ConfigMap",\n  "apiVersion": "v1",\n')
  const yaml = watchglass(value, 'decode', '--output', 'yaml').stdout.toString()
  t.equal(yaml, 'apiVersion: v1\ndata:\n  key: <value>\nkind: ConfigMap\nmetadata:\n  name: a\n')
  t.match(watchglass(json, 'encode'), { status: 0, stdout: value })
})

t.test('decode says why it cannot', async t => {
  t.match(watchglass('k8s:enc:aescbc:v1:key:abc', 'decode'), {
    status: 1,
    stderr: 'watchglass: value is encrypted\n',
  })
  t.match(watchglass(value, 'decode', '--output', 'xml'), {
    status: 2,
    stderr: 'watchglass: --output is "xml": json, pretty or yaml\n',
  })
  t.match(watchglass(value, 'decode', '--etcd', 'http://127.0.0.1:1'), { status: 2 })
  t.match(watchglass('{"kind":"Pod"}', 'encode'), { status: 1 })
})

t.test(
  'lines are answered in order, each with its JSON or the reason why there is none',
  async t => {
    const vectors = loadVectors().slice(0, 400)
    const wrong = ['', 'no json', '{"value":1}', '{"value":"?"}', '{"value":"AAAA"}']
    const lines = [...vectors.map(({ pb }) => `{"value":"${pb.toString('base64')}"}`), ...wrong]
    const { status, stdout } = watchglass(`${lines.join('\n')}\n`, 'decode', '--jsonl')
    t.equal(status, 0)
    const answers = stdout
      .toString()
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as object)
    t.equal(answers.length, lines.length)
    t.strictSame(
      answers.slice(0, vectors.length),
      vectors.map(vector => ({ json: vector.json.trimEnd() })),
    )
    t.strictSame(answers.slice(vectors.length), [
      ...wrong.slice(0, 4).map(() => ({ error: 'line is not {"value": base64}' })),
      { error: 'value is neither Kubernetes protobuf nor JSON' },
    ])
  },
)

t.test('a reader that has seen enough is no failure', async t => {
  const line = `{"value":"${value.toString('base64')}"}\n`
  const program = spawn(process.execPath, [...programFlags(), '.', 'decode', '--jsonl'])
  program.stdin.on('error', () => undefined)
  program.stdin.end(line.repeat(20_000))
  program.stdout.once('data', () => program.stdout.destroy())
  const status = await new Promise(resolve => {
    program.once('exit', resolve)
  })
  t.equal(status, 0)
})

t.test('a custom object stays the text that it is stored as', async t => {
  const text = '{"apiVersion":"example.com/v1","kind":"Widget","a":1.50}'
  const line = JSON.stringify({ value: Buffer.from(`${text}\n`).toString('base64') })
  t.equal(decodedLine(line), JSON.stringify({ json: text }))
})

t.test('decode reads a key of an etcd', async t => {
  const engine = new Engine({
    clock: systemClock,
    random: createRandom(1),
    scheduler: createDirectScheduler(),
  })
  const server = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
  const url = `http://${server.address}`
  const client = new GrpcClient({ endpoints: [url] })
  const key = keyFromText('/registry/configmaps/default/a')
  await client.txn({ compares: [], success: [{ type: 'put', key, value }], failure: [] })
  await client.close()
  const run = (name: string): Promise<[unknown, string]> =>
    new Promise(resolve => {
      const program = spawn(process.execPath, [
        ...programFlags(),
        '.',
        'decode',
        '--etcd',
        url,
        name,
      ])
      let output = ''
      for (const stream of [program.stdout, program.stderr]) {
        stream.on('data', piece => {
          output += String(piece)
        })
      }
      program.once('close', status => {
        resolve([status, output])
      })
    })
  t.strictSame(await run('/registry/configmaps/default/a'), [0, `${json}\n`])
  t.strictSame(await run('/no'), [1, 'watchglass: etcd has no key /no\n'])
  await server.close()
  engine.close()
})
