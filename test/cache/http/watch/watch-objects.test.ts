import t from 'tap'
import { NotExact } from '../../../../lib/base/not-exact.ts'
import { jsonFromProtobuf } from '../../../../lib/codec/transcode/transcode.ts'
import { decodedCbor } from '../../../support/kube/outputs.ts'
import { ask, startServed } from '../../../support/http/served.ts'
import { toyDefinition, toyDefinitionKey } from '../../../support/toys.ts'
import {
  all,
  put,
  putBytes,
  remove,
  streaming,
  told,
  watch,
} from '../../../support/watch/watch-served.ts'
import type { ToldEvent } from '../../../support/watch/watch-world.ts'

t.test('events are no lists of metadata, though others watch metadata', async t => {
  const served = await startServed(t)
  await put(served, 'a')
  const as = (kind: string): Record<string, string> => ({
    Accept: `application/json;as=${kind};v=v1;g=meta.k8s.io`,
  })
  const objects = await watch(t, served, all, { headers: as('PartialObjectMetadata') })
  t.ok(await objects.next())
  const lists = await watch(t, served, all, { headers: as('PartialObjectMetadataList') })
  t.equal(await lists.next(), undefined, 'the watch ends, as with kube-apiserver 1.36')
})

t.test('every media type tells the same', async t => {
  const served = await startServed(t, { hasCbor: true })
  const at = await put(served, 'a')
  const path = `${all}&${streaming}`
  const json = await watch(t, served, path)
  const protobuf = await watch(t, served, path, {
    headers: { accept: 'application/vnd.kubernetes.protobuf' },
  })
  const metadata = await watch(t, served, path, {
    headers: { accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' },
  })
  const table = await watch(t, served, path, {
    headers: { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' },
  })
  const cbor = await watch(t, served, path, { headers: { accept: 'application/cbor' } })
  t.equal(protobuf.type, 'application/vnd.kubernetes.protobuf;stream=watch')
  t.equal(cbor.type, 'application/cbor-seq')
  const removed = await remove(served, 'a')
  const types = ['ADDED', 'BOOKMARK', 'DELETED']
  for (const [i, type] of types.entries()) {
    const plain = (await json.next())!.toString()
    t.equal(fromProtobuf((await protobuf.next())!), plain)
    t.same(decodedCbor((await cbor.next())!), JSON.parse(plain))
    const { object } = JSON.parse(plain) as ToldEvent
    const { metadata: told } = object
    t.equal(told.resourceVersion, String(i === 2 ? removed : at))
    const partial = JSON.parse((await metadata.next())!.toString()) as ToldEvent
    t.match(partial, { type, object: { kind: 'PartialObjectMetadata', metadata: told } })
    const rows = JSON.parse((await table.next())!.toString()) as TableEvent
    t.equal(rows.type, type)
    t.equal(Array.isArray(rows.object.columnDefinitions), i === 0, 'columns come once')
    t.match(rows.object.rows, [{ object: { metadata: told } }])
  }
})

interface TableEvent {
  readonly type: string
  readonly object: { readonly columnDefinitions: unknown; readonly rows: readonly object[] }
}

/** A frame of protobuf as the line of JSON that says the same. */
function fromProtobuf(frame: Buffer): string {
  const object = jsonFromProtobuf(frame, frame.indexOf('k8s\0'))
  if (object instanceof NotExact) throw new Error(object.reason)
  const type = /ADDED|BOOKMARK|DELETED/.exec(frame.toString('latin1'))?.[0]
  return `{"type":"${type}","object":${Buffer.from(object).toString().trimEnd()}}\n`
}

t.test('media types that cannot be streamed are refused', async t => {
  const served = await startServed(t)
  await put(served, 'a')
  for (const accept of ['application/yaml', 'text/html', 'application/json;as=Nothing;g=g;v=v1']) {
    const { status } = await ask(served.service.port, { path: all, headers: { accept } })
    t.equal(status, 406, accept)
  }
  const path = `${all}&includeObject=Nothing`
  const accept = 'application/json;as=Table;g=meta.k8s.io;v=v1'
  t.equal((await ask(served.service.port, { path, headers: { accept } })).status, 400)
})

t.test('an object that is not exact ends running watches at the revision before it', async t => {
  const served = await startServed(t)
  const at = await put(served, 'a')
  const stream = await watch(t, served, `${all}&resourceVersion=${at}`)
  const selected = await watch(t, served, `${all}&resourceVersion=${at}&labelSelector=x%3Dy`)
  const elsewhere = await watch(
    t,
    served,
    `/api/v1/namespaces/b/configmaps?watch=1&resourceVersion=${at}`,
  )
  const b = await put(served, 'b')
  await putBytes(served, '/registry/configmaps/a/c', Buffer.from('k8s:enc:aescbc:v1:key1:secret'))
  t.strictSame(await told(stream, 2), [`ADDED b@${b}`, 'end'])
  t.strictSame(await told(selected, 1), ['end'], 'whether it is selected cannot be told either')
  const refused = await ask(served.service.port, { path: all })
  t.equal(refused.status, 500)
  const other = await put(served, 'b/x')
  t.strictSame(await told(elsewhere, 1), [`ADDED x@${other}`])
  const after = await watch(t, served, `${all}&resourceVersion=${other}`)
  const last = await put(served, 'd')
  t.strictSame(await told(after, 1), [`ADDED d@${last}`])
})

t.test('watches of custom resources end when their definition changes', async t => {
  const served = await startServed(t)
  const at = await putBytes(served, toyDefinitionKey, toyDefinition(['color']))
  const path = `/apis/example.com/v1/toys?watch=1&resourceVersion=${at}`
  const stream = await watch(t, served, `${path}&fieldSelector=spec.color%3Dred`)
  const toy = (name: string, color: string): Buffer =>
    Buffer.from(
      JSON.stringify({
        apiVersion: 'example.com/v1',
        kind: 'Toy',
        metadata: { name, namespace: 'a' },
        spec: { color },
      }),
    )
  await putBytes(served, '/registry/example.com/toys/a/ship', toy('ship', 'blue'))
  const car = await putBytes(served, '/registry/example.com/toys/a/car', toy('car', 'red'))
  t.strictSame(await told(stream, 1), [`ADDED car@${car}`])
  await putBytes(served, toyDefinitionKey, toyDefinition(['size']))
  t.strictSame(await told(stream, 1), ['end'])
  const again = { path: `${path}&fieldSelector=spec.color%3Dred`, leavesEarly: true }
  t.equal((await ask(served.service.port, again)).status, 400)
})
