/** Checkpoints are read from files and from object stores; those that are damaged, cut off, huge,
 *  of no etcd, or none at all are refused. */

import { createServer, type RequestListener } from 'node:http'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { keyFromText, textFromKey } from '../../../../lib/base/keys.ts'
import { revision } from '../../../../lib/base/revision.ts'
import { systemClock } from '../../../../lib/cache/ops/system.ts'
import type { CheckpointContents } from '../../../../lib/cache/mirror/checkpoint.ts'
import { CheckpointFile } from '../../../../lib/cli/commands/recordings/checkpoint-file.ts'
import { RecordingWriter } from '../../../../lib/cli/commands/recordings/recording.ts'
import { checkpointOption, type CheckpointPlace } from '../../../../lib/cli/options/mirrored.ts'
import { KeyValue } from '../../../../lib/store/event.ts'

const at = revision(900)

async function write(
  path: string,
  objects = 500,
  clusterId: bigint | undefined = 2n ** 63n,
): Promise<void> {
  const writer = await RecordingWriter.create(path, undefined, undefined, clusterId)
  const entries = Array.from({ length: objects }, (_, i) => {
    const bytes = Buffer.from(`value ${i} ü`)
    const modRevision = revision(i + 1)
    const meta = { createRevision: modRevision, modRevision, version: 1, lease: 5n }
    const key = keyFromText(`/registry/pods/${String(i).padStart(5, '0')}`)
    return new KeyValue(key, { bytes, start: 0, end: bytes.length }, meta)
  })
  await writer.writeBase(at, entries.slice(0, 300))
  await writer.writeBase(at, entries.slice(300))
  await writer.endBase(at)
  await writer.close()
}

function read(place: CheckpointPlace, maxBytes = 1e9): Promise<CheckpointContents> {
  const file = new CheckpointFile({ place, clock: systemClock, maxBytes })
  return file.read(new AbortController().signal)
}

function check(t: Test, { clusterId, revision, entries }: CheckpointContents): void {
  t.equal(clusterId, 2n ** 63n)
  t.equal(revision, at)
  t.equal(entries.size, 500)
  const key = keyFromText('/registry/pods/00321')
  const entry = entries.get(key)!
  t.equal(Buffer.from(entry.value).toString(), 'value 321 ü')
  t.equal(textFromKey(entry.key), '/registry/pods/00321')
  t.same([entry.modRevision, entry.version, entry.lease], [322, 1, 5n])
}

/** An object store on this machine. */
async function store(t: Test, listener: RequestListener): Promise<URL> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return new URL(`http://127.0.0.1:${port}/bucket/latest?X-Amz-Signature=secret`)
}

t.test('what save writes is read from a file, compressed or not', async t => {
  const folder = t.testdir()
  for (const name of ['a.jsonl', 'a.jsonl.gz']) {
    await write(join(folder, name))
    check(t, await read(join(folder, name)))
  }
})

t.test('and from an object store, whose name says nothing of its form', async t => {
  const path = join(t.testdir(), 'a.jsonl')
  await write(path)
  const bytes = readFileSync(path)
  for (const body of [bytes, gzipSync(bytes)]) {
    let asked = ''
    const url = await store(t, ({ url: path }, response) => {
      asked = path ?? ''
      response.end(body)
    })
    check(t, await read(url))
    t.equal(asked, '/bucket/latest?X-Amz-Signature=secret')
    const { name } = new CheckpointFile({ place: url, clock: systemClock, maxBytes: 1 })
    t.match(name, /\/bucket\/latest$/, 'a log has no signature')
  }
})

t.test('changes that were recorded after the contents are of no concern', async t => {
  const path = join(t.testdir(), 'a.jsonl')
  await write(path)
  writeFileSync(path, `${readFileSync(path, 'utf8')}{"rev":901,"type":"delete","key":"/a"}\n`)
  check(t, await read(path))
})

t.test('what is no whole checkpoint is refused, and says why', async t => {
  const folder = t.testdir()
  const path = join(folder, 'a.jsonl')
  await write(path)
  const text = readFileSync(path, 'utf8')
  const lines = text.split('\n')
  const anonymous = join(folder, 'anonymous')
  await (await RecordingWriter.create(anonymous)).close()
  const rows: [string | Buffer, RegExp][] = [
    [text.slice(0, text.length / 2), /it is cut off after 2\d\d objects/],
    [lines.slice(0, 400).join('\n') + '\n', /it is cut off after 399 objects/],
    [gzipSync(text).subarray(0, 2000), /it cannot be read: unexpected end of file/],
    [[...lines.slice(0, 7), ...lines.slice(8)].join('\n'), /it is damaged: its checksum/],
    [text.replace('"lease":"5"', '"lease":"6"'), /it is damaged: its checksum/],
    [[lines[0], lines[2], lines[1]].join('\n') + '\n', /line 3: key .* does not come after key/],
    [text.replace('"value":"', '"value":"!'), /line 2: value is not base64/],
    [text.replace('"rev":900,"type":"put"', '"rev":899,"type":"put"'), /line 2: it is not of the/],
    [text.replace(/,"cluster_id":"\d+"/, ''), /line 1: it does not say of which etcd it is/],
    [text.replace(/"cluster_id":"\d+"/, '"cluster_id":"x"'), /line 1: cluster_id is not/],
    [lines.slice(1).join('\n'), /line 1: it does not say of which etcd it is/],
    ['', /it is cut off after 0 objects/],
    ['hello\n', /line 1: it does not say/],
    [gzipSync(Buffer.alloc(65 * 1024 * 1024, ' '), { level: 1 }), /a line is longer than 67108864/],
  ]
  for (const [body, message] of rows) {
    writeFileSync(path, body)
    await t.rejects(read(path), { code: 'invalid_request', message })
  }
  await t.rejects(read(join(folder, 'none')), { message: /it cannot be read: ENOENT/ })
})

t.test('contents that are larger than the memory are not read to their end', async t => {
  const path = join(t.testdir(), 'a.jsonl')
  await write(path)
  await t.rejects(read(path, 5_000), { message: /line \d+: there are more than 5000 bytes/ })
})

t.test('a store that refuses, leads elsewhere, or breaks off is a failure', async t => {
  const path = join(t.testdir(), 'a.jsonl')
  await write(path)
  const bytes = readFileSync(path)
  const rows: [RequestListener, RegExp][] = [
    [(_, response) => response.writeHead(403).end('no'), /the store answers 403/],
    [
      (_, response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
      /the store answers 302/,
    ],
    [
      (_, response) => {
        response.writeHead(200, { 'content-length': bytes.length })
        response.write(bytes.subarray(0, 20_000), () => response.destroy())
      },
      /it cannot be read: aborted/,
    ],
    [(request, response) => void (request.socket.destroy(), response), /it cannot be read/],
  ]
  for (const [listener, message] of rows) {
    await t.rejects(read(await store(t, listener)), { code: 'invalid_request', message })
  }
})

t.test('a start that is stopped reads no further', async t => {
  const stop = new AbortController()
  const url = await store(t, (_, response) => {
    response.write('{"rev":900,"type":"base_begin"')
    stop.abort()
  })
  const file = new CheckpointFile({ place: url, clock: systemClock, maxBytes: 1e9 })
  await t.rejects(file.read(stop.signal), { message: /it cannot be read/ })
})

t.test('an address without TLS is for this machine only', t => {
  const { parse } = checkpointOption
  t.equal(parse('cluster.jsonl.gz'), 'cluster.jsonl.gz')
  t.equal((parse('https://s3.example.com/a?b=c') as URL).search, '?b=c')
  t.ok(parse('http://127.0.0.1:9000/a') instanceof URL)
  for (const text of ['', 'http://s3.example.com/a', 's3://bucket/a', 'https://']) {
    t.equal(parse(text), undefined, text)
  }
  t.end()
})
