/** A folder of a dump as a recording: its objects are all that there was. */

import t from 'tap'
import { textFromKey } from '../../../../lib/base/keys.ts'
import { jsonFromStored } from '../../../../lib/codec/transcode/transcode.ts'
import { readRecording } from '../../../../lib/cli/commands/recordings/recording.ts'

interface Loaded {
  readonly bases: readonly boolean[]
  readonly leftOut: readonly string[]
  /** The uids of objects, by their keys. */
  readonly uids: ReadonlyMap<string, string>
}

async function load(path: string): Promise<Loaded> {
  const [bases, leftOut, uids] = [[] as boolean[], [] as string[], new Map<string, string>()]
  const noted = (reason: string, count: number): unknown => leftOut.push(`${count} ${reason}`)
  for await (const { isBase, changes } of readRecording(path, noted)) {
    bases.push(isBase)
    for (const change of changes) {
      if (change.type === 'delete') continue
      const { key, value } = change.entry
      const json = Buffer.from(jsonFromStored(value) as Uint8Array).toString()
      const { metadata } = JSON.parse(json) as { metadata: { uid: string } }
      uids.set(textFromKey(key), metadata.uid)
    }
  }
  return { bases, leftOut, uids }
}

t.test(
  'a folder of a dump is a base, with namespaces and kinds that other files define',
  async t => {
    const list = (kind: string, items: readonly object[]): string =>
      JSON.stringify({ kind, apiVersion: 'v1', metadata: {}, items })
    const pod = (name: string): object => ({
      metadata: { name, namespace: 'shop', uid: `uid-${name}` },
      spec: { containers: [{ name: 'a', image: 'nginx' }] },
    })
    const widget =
      'apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w, namespace: tools}\n'
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural: 'widgets', kind: 'Widget' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object' } },
          },
        ],
      },
      status: {
        acceptedNames: { plural: 'widgets', kind: 'Widget' },
        storedVersions: ['v1'],
        conditions: ['NamesAccepted', 'Established'].map(type => ({ type, status: 'True' })),
      },
    }
    const path = t.testdir({
      'a-widgets.yaml': widget,
      'nodes.json': list('NodeList', [{ metadata: { name: 'node-1' } }]),
      shop: {
        'pods.json': list('PodList', [pod('one'), pod('two')]),
        'broken.json': '{',
        one: { 'logs.txt': 'a line' },
      },
      'z-crd.yaml': JSON.stringify(definition),
    })
    const { bases, leftOut, uids } = await load(path)
    t.strictSame(bases, [true])
    t.strictSame([...uids.keys()].sort(), [
      '/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com',
      '/registry/example.com/widgets/tools/w',
      '/registry/minions/node-1',
      '/registry/namespaces/shop',
      '/registry/namespaces/tools',
      '/registry/pods/shop/one',
      '/registry/pods/shop/two',
    ])
    t.equal(uids.get('/registry/pods/shop/one'), 'uid-one')
    t.match(leftOut, [/^1 a file cannot be read as JSON/])
  },
)
