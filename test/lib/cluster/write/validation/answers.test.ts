/** Replays what a kube-apiserver 1.36.3 said of objects that are right but for one field: each is
 *  decoded, prepared and checked, and has to get the same status and causes. The answers are a
 *  sample of those to some 15000 such objects. */

import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { Slice } from '../../../../../lib/base/slice.ts'
import { SlowClock } from '../../../../support/fake-clock.ts'
import { type MessageType, schemaOf } from '../../../../../lib/codec/schema/schema.ts'
import type { JsonObject } from '../../../../../lib/codec/json/tree.ts'
import { decodeBuiltIn } from '../../../../../lib/cluster/write/decode/body.ts'
import { metadataOf } from '../../../../../lib/cluster/write/metadata.ts'
import { strategyOf } from '../../../../../lib/cluster/write/strategies/strategy.ts'
import { validateBuiltIn } from '../../../../../lib/cluster/write/validation/validate.ts'
import type { WriteKind } from '../../../../../lib/cluster/write/write-kind.ts'

interface Answer {
  readonly path: string
  readonly object: { readonly kind: string }
  /** Object before an update. */
  readonly old?: object
  readonly status: number
  readonly causes?: readonly (readonly string[])[]
}

const file = 'test/lib/cluster/write/validation/answers.json.gz'
const schema = schemaOf('1.36')

type BuiltInKind = WriteKind & { readonly type: MessageType }

function kindOf({ path, object: { kind } }: Answer): BuiltInKind {
  const parts = path.split('/').slice(2)
  const group = path.startsWith('/api/') ? '' : (parts.shift() ?? '')
  const [version = ''] = parts
  const apiVersion = group === '' ? version : `${group}/${version}`
  const found = schema.findKind(apiVersion, kind)
  if (found === undefined) throw new Error(`${apiVersion} has no ${kind}`)
  return {
    schema,
    group,
    version,
    apiVersion,
    kind,
    resource: parts.at(-1) ?? '',
    isNamespaced: path.includes('/namespaces/'),
    type: found.type,
    definition: undefined,
  }
}

async function decoded(kind: BuiltInKind, object: object): Promise<JsonObject> {
  const body = Buffer.from(JSON.stringify(object))
  const slice = new Slice(new SlowClock())
  return (await decodeBuiltIn(kind, { body, form: 'json', fieldValidation: 'Ignore' }, slice))
    .object
}

const kept = ['uid', 'creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds']
const allocator = { address: () => '10.0.0.7', port: () => 30007 }
const user = { user: 'u', uid: '', groups: [], extra: {} }
const context = { now: '2024-01-01T00:00:00Z', user, allocator }

async function causesOf(answer: Answer): Promise<string[][]> {
  const kind = kindOf(answer)
  const object = await decoded(kind, answer.object)
  const metadata = metadataOf(object)
  if (typeof metadata.get('name') !== 'string') metadata.delete('name')
  if (kind.isNamespaced && !metadata.has('namespace')) metadata.set('namespace', 't')
  const strategy = strategyOf(kind, '')
  const old = answer.old === undefined ? undefined : await decoded(kind, answer.old)
  if (old === undefined) {
    metadata.set('uid', 'x').set('creationTimestamp', context.now)
    const prefix = metadata.get('generateName')
    if (!metadata.has('name') && typeof prefix === 'string') metadata.set('name', `${prefix}12345`)
    strategy.onCreate(object, context)
  } else {
    for (const name of kept) {
      const value = metadataOf(old).get(name)
      if (value === undefined) metadata.delete(name)
      else metadata.set(name, value)
    }
    strategy.onUpdate(object, old, context)
  }
  const errors = validateBuiltIn(kind, object, old, '')
  const causes = errors.map(({ field, reason, message }) => [field, reason, message])
  return causes.sort((a, b) => (a.join() < b.join() ? -1 : 1))
}

/** The text without the lines that a kube-apiserver adds where fields may not change: the
 *  difference between two prints of its internal structs. We have none. */
function withoutDifference(text: string): string {
  return text.replace(/\n@@ -[^]*$/, '')
}

t.test('invalid objects get the causes that kube-apiserver gives', async t => {
  const answers = JSON.parse(gunzipSync(readFileSync(file)).toString()) as Answer[]
  const differences: object[] = []
  for (const answer of answers) {
    const { path, object, causes = [] } = answer
    const ours = JSON.stringify(await causesOf(answer))
    const theirs = JSON.stringify(causes.map(cause => cause.map(withoutDifference)))
    if (ours !== theirs) differences.push({ path, object: JSON.stringify(object), ours, theirs })
  }
  t.ok(answers.length > 1000)
  t.strictSame(differences.slice(0, 5), [])
})
