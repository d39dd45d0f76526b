/** Recordings and values that others have made: they are loaded as they are or refused in a word,
 *  and a server that holds them goes on. */

import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { Anonymizer } from '../../lib/simulator/generate/anonymize.ts'
import { silentLogger } from '../../lib/base/logger.ts'
import { schemaOf } from '../../lib/codec/schema/schema.ts'
import { loadRecording } from '../../lib/cli/commands/recordings/load.ts'
import { ask } from '../support/attacks/ask.ts'
import { createTestEngine } from '../support/etcd/test-engine.ts'
import { programFlags } from '../support/program/program-flags.ts'
import { serveHere } from '../support/program/serve-here.ts'

function put(rev: number, key: string, value: string | Buffer, more: object = {}): string {
  return JSON.stringify({
    rev,
    type: 'put',
    key,
    value: Buffer.from(value).toString('base64'),
    create_revision: rev,
    mod_revision: rev,
    version: 1,
    lease: '0',
    ...more,
  })
}

/** Fields of protobuf within each other. */
function deepProtobuf(depth: number): Buffer {
  let bytes: Buffer = Buffer.alloc(0)
  for (let i = 0; i < depth; i++) {
    const size: number[] = []
    let { length } = bytes
    for (; length > 127; length >>>= 7) size.push((length & 127) | 128)
    bytes = Buffer.concat([Buffer.from([0x12, ...size, length]), bytes])
  }
  return Buffer.concat([Buffer.from('k8s\0'), bytes])
}

const map = (name: string): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } })
const maps = '/registry/configmaps/default'

function definition(): string {
  let schema: object = { type: 'string', pattern: '(a+)+$' }
  for (let i = 0; i < 400; i++) schema = { type: 'object', properties: { a: schema } }
  const column = { name: '\u001b[2J', type: 'string', jsonPath: `.${'a[*]'.repeat(500)}` }
  return JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: {
        plural: 'widgets',
        kind: 'Widget',
        singular: '__proto__',
        shortNames: ['constructor', '../..'],
      },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          additionalPrinterColumns: [column],
          schema: { openAPIV3Schema: schema },
        },
      ],
    },
  })
}

/** Recordings that are refused, and the reason. */
const refused: readonly [string, readonly string[], RegExp][] = [
  ['a revision that leaves no room', [put(2 ** 53 - 1, '/a', '')], /rev is not a whole number/],
  [
    'a version that leaves no room',
    [put(5, '/a', '', { create_revision: 2, version: 2 ** 53 - 1 })],
    /version is not a whole number/,
  ],
  [
    'a lease that etcd could not have',
    [put(5, '/a', '', { lease: '9999999999999999999' })],
    /lease is not a whole number/,
  ],
  ['a prototype', ['{"__proto__":{"rev":5},"type":"put"}'], /rev is not a whole number/],
  ['no object', ['[]'], /it is not an object/],
  ['nothing', ['null'], /it is not an object/],
  ['deep JSON', ['['.repeat(1e6)], /it is not JSON/],
]

t.test('recordings that are refused', async t => {
  const folder = t.testdir()
  for (const [name, lines, reason] of refused) {
    const file = join(folder, 'file.jsonl')
    writeFileSync(file, `${lines.join('\n')}\n`)
    await t.rejects(loadRecording(createTestEngine(t).engine, file, silentLogger), reason, name)
  }
  const bomb = join(folder, 'bomb.jsonl.gz')
  writeFileSync(bomb, gzipSync(Buffer.alloc(200e6, 120)))
  await t.rejects(
    loadRecording(createTestEngine(t).engine, bomb, silentLogger),
    /a line is longer than/,
  )
})

t.test('values that mean nothing', async t => {
  const lines = [
    put(5, '/registry/\0', map('a')),
    put(6, `${maps}/${'k'.repeat(1e5)}`, map('b')),
    put(7, '/registry//', map('c')),
    put(8, `${maps}/__proto__`, map('__proto__')),
    put(9, '/registry/apiextensions.k8s.io/customresourcedefinitions/x.y', '{}'),
    put(
      10,
      '/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com',
      definition(),
    ),
    put(11, '/registry/example.com/widgets/default/a', `${'{"a":'.repeat(2e5)}1${'}'.repeat(2e5)}`),
    put(12, '/registry/pods/default/a', deepProtobuf(5_000)),
    put(13, '/registry/secrets/default/a', '['.repeat(1e6)),
    put(14, `${maps}/deep`, `{"data":${'['.repeat(1e5)}`),
  ]
  const file = join(t.testdir(), 'file.jsonl')
  writeFileSync(file, `${lines.join('\n')}\n`)
  const { port } = await serveHere(t, ['--etcd', 'embedded', '--load', file])
  const address = { protocol: 'http', port } as const
  const paths = [
    '/api/v1/configmaps',
    '/api/v1/pods',
    '/api/v1/secrets',
    '/apis/example.com/v1/widgets',
    '/api/v1/configmaps?watch=1&timeoutSeconds=1&resourceVersion=0',
    '/openapi/v2',
    '/apis',
  ]
  for (const path of paths) {
    for (const accept of ['application/json', 'application/json;as=Table;v=v1;g=meta.k8s.io']) {
      await ask(address, '1.1', { path, headers: { accept } })
    }
  }
  t.equal((await ask(address, '1.1', { path: '/livez' })).status, 200)
  t.equal((await ask(address, '1.1', { path: '/api/v1/services' })).status, 200)
})

t.test('the same values, without names', async t => {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  const anonymizer = new Anonymizer(schemaOf(), digest)
  const values = [
    '['.repeat(1e6),
    `${'{"a":'.repeat(2e5)}1${'}'.repeat(2e5)}`,
    deepProtobuf(5_000),
    definition(),
    map('__proto__'),
    Buffer.alloc(1e6, 0xff),
    Buffer.from('k8s\0'),
    '',
  ]
  // Either it is made anonymous or there is a reason why not: nothing is thrown.
  for (const value of values) t.ok(anonymizer.value(Buffer.from(value)))
})

t.test('lines to decode', async t => {
  const lines = [
    '{"value":"AAAA"}',
    '[',
    '{"value":"!"}',
    '{"value":1}',
    '',
    `{"value":"${'A'.repeat(4e6)}"}`,
  ]
  const { code, output } = await decoded(t, `${lines.join('\r\n')}\n{"value":"eA=="}`)
  t.equal(code, 0)
  t.equal(output.trim().split('\n').length, lines.length + 1)
  const endless = await decoded(t, 'x'.repeat(70e6))
  t.equal(endless.code, 2)
  t.equal(endless.output, '')
})

async function decoded(t: Test, input: string): Promise<{ code: number; output: string }> {
  const args = [...programFlags(), '.', 'decode', '--jsonl']
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'ignore'] })
  t.teardown(() => void child.kill())
  let output = ''
  child.stdout.on('data', (text: Buffer) => (output += text.toString()))
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const [code] = (await once(child, 'close')) as [number]
  return { code, output }
}
