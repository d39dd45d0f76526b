/** Deletes as clients in each language send them: the options of a typed client in Go are
 *  Kubernetes protobuf, those of a dynamic one CBOR or JSON. */

import { encode } from 'cborg'
import t from 'tap'
import { serveHere } from '../../support/program/serve-here.ts'

/** A field of protobuf: text or message. */
function field(number: number, value: string | Buffer): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes])
}

/** As client-go writes it: the kind under the group and version of the resource. */
function protobufOptions(apiVersion: string, message: Buffer, kind = 'DeleteOptions'): Buffer {
  const typeMeta = Buffer.concat([field(1, apiVersion), field(2, kind)])
  const unknown = [field(1, typeMeta), field(2, message), field(3, ''), field(4, '')]
  return Buffer.concat([Buffer.from('k8s\0'), ...unknown])
}

const dryRun = field(5, 'All')
const preconditions = (uid: string): Buffer => field(2, field(1, uid))
const protobuf = 'application/vnd.kubernetes.protobuf'

t.test('options of a delete are read in every form that clients send', async t => {
  const { address } = await serveHere(t, ['--etcd', 'embedded', '--cbor'])
  const send = (method: string, path: string, body?: Buffer, type = 'application/json') =>
    fetch(address + path, {
      method,
      headers: { 'content-type': type },
      body: body === undefined ? null : new Uint8Array(body),
    })
  const create = async (path: string, object: object): Promise<string> => {
    let answer
    do answer = await send('POST', path, Buffer.from(JSON.stringify(object)))
    while (answer.status === 404)
    t.equal(answer.status, 201, path)
    return ((await answer.json()) as { metadata: { uid: string } }).metadata.uid
  }
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object' } },
        },
      ],
    },
  }
  await create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition)
  const apps = { selector: { matchLabels: { a: 'b' } } }
  const template = {
    metadata: { labels: { a: 'b' } },
    spec: { containers: [{ name: 'a', image: 'a' }] },
  }
  const kinds = [
    ['v1', 'ConfigMap', '/api/v1/namespaces/default/configmaps', {}],
    [
      'apps/v1',
      'ReplicaSet',
      '/apis/apps/v1/namespaces/default/replicasets',
      { spec: { ...apps, template } },
    ],
    ['example.com/v1', 'Widget', '/apis/example.com/v1/namespaces/default/widgets', {}],
  ] as const
  for (const [apiVersion, kind, path, more] of kinds) {
    const object = { apiVersion, kind, metadata: { name: 'a', labels: { of: 'test' } }, ...more }
    const uid = await create(path, object)
    const options = { apiVersion: 'v1', kind: 'DeleteOptions' }
    const dry = [
      [protobuf, protobufOptions(apiVersion, dryRun)],
      [protobuf, protobufOptions('meta.k8s.io/v1', dryRun)],
      ['application/json', Buffer.from(JSON.stringify({ ...options, dryRun: ['All'] }))],
      ['application/yaml', Buffer.from('dryRun: [All]\n')],
      ['application/cbor', Buffer.from(encode({ ...options, dryRun: ['All'] }))],
    ] as const
    const isThere = async (): Promise<boolean> => (await send('GET', `${path}/a`)).ok
    for (const [type, body] of dry) {
      t.equal((await send('DELETE', `${path}/a`, body, type)).status, 200, `${kind}: ${type}`)
      const many = `${path}?labelSelector=of%3Dtest`
      t.equal((await send('DELETE', many, body, type)).status, 200, `${kind}s: ${type}`)
      t.ok(await isThere(), 'a dry run deletes nothing')
    }
    const other = protobufOptions(apiVersion, preconditions('another'))
    t.equal((await send('DELETE', `${path}/a`, other, protobuf)).status, 409)
    const wrong = await send(
      'DELETE',
      `${path}/a`,
      protobufOptions(apiVersion, dryRun, 'Pod'),
      protobuf,
    )
    t.equal(wrong.status, 400)
    t.match(await wrong.text(), 'decoded object cannot be converted to DeleteOptions')
    const cut = await send(
      'DELETE',
      `${path}/a`,
      protobufOptions(apiVersion, Buffer.from([0x2a])),
      protobuf,
    )
    t.equal(cut.status, 400, 'a message that ends early')
    t.ok(await isThere())
    const right = protobufOptions(apiVersion, preconditions(uid))
    t.equal((await send('DELETE', `${path}/a`, right, protobuf)).status, 200)
    t.notOk(await isThere())
    await create(path, object)
    const all = protobufOptions(apiVersion, Buffer.alloc(0))
    t.equal((await send('DELETE', path, all, protobuf)).status, 200)
    t.notOk(await isThere(), 'a collection')
  }
})
