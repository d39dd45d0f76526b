import * as http from 'node:http'
import * as http2 from 'node:http2'
import t from 'tap'
import { keyFromText } from '../../../../lib/base/keys.ts'
import { protobufFromJson } from '../../../../lib/codec/transcode/transcode.ts'
import { ask, type Served, startServed } from '../../../support/http/served.ts'

/** Larger than what is not counted, and so large that 512 MiB are soon full if it is not given
 *  back. */
const objectBytes = 900_000

async function putLarge({ client }: Served): Promise<void> {
  const metadata = { name: 'x', namespace: 'a' }
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata,
    data: { x: 'x'.repeat(objectBytes) },
  }
  const value = protobufFromJson(Buffer.from(JSON.stringify(object))) as Uint8Array
  await client.txn({
    compares: [],
    success: [{ type: 'put', key: keyFromText('/registry/configmaps/a/x'), value }],
    failure: [],
  })
}

t.test('what an answer has held is free when it has been taken', async t => {
  const served = await startServed(t)
  await putLarge(served)
  const { port } = served.service
  const agent = new http.Agent({ keepAlive: true, maxSockets: 4 })
  t.teardown(() => agent.destroy())
  const path = '/api/v1/namespaces/a/configmaps/x'
  for (let i = 0; i < 160; i++) {
    const four = [path, path, '/api/v1/configmaps', path]
    const answers = await Promise.all(four.map(one => ask(port, { path: one }, agent)))
    const codes = answers.map(({ status }) => status)
    if (codes.some(code => code !== 200)) t.fail(`${codes.join()} in round ${i}`)
  }
  t.pass('576 MB were sent over HTTP/1.1')
})

t.test('so it is over HTTP/2, and when clients leave in the middle', async t => {
  const served = await startServed(t)
  await putLarge(served)
  const session = http2.connect(`http://127.0.0.1:${served.service.port}`)
  t.teardown(() => session.destroy())
  const path = '/api/v1/namespaces/a/configmaps/x'
  const codes = new Set<number>()
  for (let i = 0; i < 640; i++) {
    await new Promise<void>(resolve => {
      const stream = session.request({ ':path': path })
      stream.on('response', headers => codes.add(headers[':status'] ?? 0))
      stream.on('close', resolve)
      stream.on('error', () => {})
      // More would be taken for an attack by the server of Node.
      if (i % 20 === 0) stream.once('data', () => stream.close(http2.constants.NGHTTP2_CANCEL))
      else stream.resume()
    })
  }
  t.strictSame([...codes], [200])
})
