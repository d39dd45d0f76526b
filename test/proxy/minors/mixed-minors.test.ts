/** Differences between servers of two minors, by the data of both; and that nothing else differs,
 *  with objects that were recorded and with random ones. */

import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { ByteWriter } from '../../../lib/base/bytes/byte-writer.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { builtinEncodings } from '../../../lib/codec/negotiate/negotiate.ts'
import { type Schema, schemaOf } from '../../../lib/codec/schema/schema.ts'
import { ObjectEncoder, type OutputForm } from '../../../lib/codec/output/object-encoder.ts'
import { MixedMinors } from '../../../lib/proxy/minors/mixed-minors.ts'
import { parseTarget } from '../../../lib/kube/request/request.ts'
import { routeRequest } from '../../../lib/kube/request/routes.ts'
import { builtInResources } from '../../../lib/kube/resources/built-ins.ts'
import { Registry } from '../../../lib/kube/resources/registry.ts'
import { groupVersionText, type Resource } from '../../../lib/kube/resources/resource.ts'
import type { KeyValue } from '../../../lib/store/event.ts'
import { recordingOf } from '../../golden/load.ts'

const json: OutputForm = {
  encoding: 'json',
  rendering: 'object',
  renderingVersion: 'v1',
  includeObject: 'Metadata',
  now: 0,
}
const protobuf: OutputForm = { ...json, encoding: 'protobuf' }
const table: OutputForm = { ...json, rendering: 'Table' }
const metadata: OutputForm = { ...json, rendering: 'PartialObjectMetadataList' }
const forms = { json, protobuf, table, metadata }

interface Pair {
  readonly schemas: readonly [Schema, Schema]
  readonly mixed: MixedMinors
  readonly resources: readonly Resource[]
}

const encoders = new Map<string, ObjectEncoder>()

function encoderOf(resource: Resource, schema: Schema): ObjectEncoder {
  const { storage } = resource
  if (storage === undefined) throw new Error(`${resource.resource} is not stored`)
  const name = `${schema.minor} ${nameOf(resource)}`
  const encoder =
    encoders.get(name) ?? new ObjectEncoder({ ...resource, storage, schema }, undefined)
  encoders.set(name, encoder)
  return encoder
}

/** Resources that either serves. */
function pairOf(older: string, newer: string): Pair {
  const schemas = [schemaOf(older), schemaOf(newer)] as const
  const byName = new Map(
    schemas.flatMap(schema => builtInResources(schema)).map(one => [nameOf(one), one]),
  )
  const resources = [...byName.values()].filter(({ storage }) => storage !== undefined)
  return { schemas, mixed: new MixedMinors({ schemas, encoderOf }), resources }
}

function nameOf({ group, version, resource }: Resource): string {
  return `${resource}.${groupVersionText(group, version)}`
}

interface Expected {
  /** Resources whose data is equal. */
  readonly alike: number
  /** Those whose objects may differ. */
  readonly some: number
  readonly apart: readonly string[]
  /** Lists in these forms differ whatever is in them. */
  readonly formsApart: readonly string[]
  /** Some of what differs. */
  readonly rows: Readonly<Record<string, readonly string[]>>
}

const expected: Readonly<Record<string, Expected>> = {
  '1.33 1.34': {
    // The time of creation is written where there is none, in all metadata.
    alike: 0,
    some: 51,
    apart: [
      'deviceclasses.resource.k8s.io/v1',
      'ipaddresses.networking.k8s.io/v1',
      'resourceclaims.resource.k8s.io/v1',
      'resourceclaimtemplates.resource.k8s.io/v1',
      'resourceslices.resource.k8s.io/v1',
      'servicecidrs.networking.k8s.io/v1',
      'volumeattributesclasses.storage.k8s.io/v1',
    ],
    formsApart: ['csidrivers.storage.k8s.io/v1 table'],
    rows: {
      'configmaps.v1': ['field meta/v1.ObjectMeta.creationTimestamp'],
      'jobs.batch/v1': ['behaviour jobSuccessCriteriaMet'],
      'pods.v1': ['field core/v1.PodSpec.hostnameOverride', 'behaviour podLevelRequests'],
      'servicecidrs.networking.k8s.io/v1': ['how it is stored'],
      'resourceclaims.resource.k8s.io/v1': ['that it is served'],
    },
  },
  '1.34 1.35': {
    alike: 40,
    some: 14,
    apart: [
      'deviceclasses.resource.k8s.io/v1',
      'resourceclaims.resource.k8s.io/v1',
      'resourceclaimtemplates.resource.k8s.io/v1',
      'resourceslices.resource.k8s.io/v1',
    ],
    formsApart: [
      'serviceaccounts.v1 table',
      'validatingadmissionpolicybindings.admissionregistration.k8s.io/v1 table',
    ],
    rows: {
      'deployments.apps/v1': ['field core/v1.PodSpec.workloadRef'],
      'nodes.v1': ['field core/v1.NodeStatus.declaredFeatures'],
      'pods.v1': ['behaviour podErrorOverCompleted', 'behaviour imageVolumes'],
      'resourceslices.resource.k8s.io/v1': ['how it is stored'],
      'serviceaccounts.v1': ['behaviour serviceAccountSecrets', 'columns'],
    },
  },
  '1.35 1.36': {
    alike: 39,
    some: 18,
    apart: [
      'mutatingadmissionpolicies.admissionregistration.k8s.io/v1',
      'mutatingadmissionpolicybindings.admissionregistration.k8s.io/v1',
      'volumeattributesclasses.storage.k8s.io/v1',
    ],
    formsApart: [
      'controllerrevisions.apps/v1 table',
      'daemonsets.apps/v1 table',
      'deployments.apps/v1 table',
      'endpointslices.discovery.k8s.io/v1 table',
      'horizontalpodautoscalers.autoscaling/v1 table',
      'horizontalpodautoscalers.autoscaling/v2 table',
      'networkpolicies.networking.k8s.io/v1 table',
      'replicasets.apps/v1 table',
    ],
    rows: {
      'horizontalpodautoscalers.autoscaling/v2': ['behaviour zeroTargetValues'],
      'ingressclasses.networking.k8s.io/v1': ['behaviour ingressClassDefault'],
      'nodes.v1': ['behaviour nodeArchitecture'],
      'pods.v1': ['field core/v1.PodSpec.schedulingGroup'],
    },
  },
}

for (const [names, { alike, some, apart, formsApart, rows }] of Object.entries(expected)) {
  const [older = '', newer = ''] = names.split(' ')
  t.test(`${older} and ${newer}: what is alike, and what is not`, async t => {
    const { mixed, resources } = pairOf(older, newer)
    const isApart = (one: Resource): boolean => mixed.areApart(one)
    t.strictSame(resources.filter(isApart).map(nameOf).sort(), [...apart].sort())
    const others = resources.filter(one => !isApart(one))
    t.equal(others.filter(one => mixed.differences(one).length === 0).length, alike)
    t.equal(others.filter(one => mixed.differences(one).length > 0).length, some)
    const differing = others.flatMap(one =>
      Object.entries(forms).flatMap(([form, output]) =>
        mixed.areFormsApart(one, output) ? [`${nameOf(one)} ${form}`] : [],
      ),
    )
    t.strictSame(differing.sort(), [...formsApart].sort())
    for (const [name, wanted] of Object.entries(rows)) {
      const found = mixed.differences(resources.find(one => nameOf(one) === name)!)
      for (const row of wanted) t.ok(found.includes(row), `${name}: ${row}`)
    }
  })
}

/** The entry of an object as it lies in etcd. */
interface Stored {
  readonly resource: Resource
  readonly entry: KeyValue
}

/** This many of each resource are enough. */
const objectsMax = 15

/** The last objects under the keys of the recording of the newer minor. */
function recordedObjects(minor: string, resources: readonly Resource[]): Stored[] {
  const last = new Map<string, KeyValue>()
  for (const { changes } of recordingOf(minor).historyBatches()) {
    for (const change of changes) {
      if (change.type === 'put') last.set(change.entry.key, change.entry)
    }
  }
  return resources.flatMap(resource => {
    const prefix = keyFromText(resource.storage?.prefix ?? '')
    const entries = [...last].flatMap(([key, entry]) => (key.startsWith(prefix) ? entry : []))
    return entries.slice(-objectsMax).map(entry => ({ resource, entry }))
  })
}

for (const [older, newer] of [
  ['1.33', '1.34'],
  ['1.34', '1.35'],
  ['1.35', '1.36'],
] as const) {
  t.test(`${older} and ${newer}: gates tell apart what differs in recorded objects`, async t => {
    const { schemas, mixed, resources } = pairOf(older, newer)
    const served = resources.filter(one => !mixed.areApart(one))
    let [alike, differing] = [0, 0]
    const wrong: string[] = []
    for (const { resource, entry } of recordedObjects(newer, served)) {
      for (const [form, output] of Object.entries(forms)) {
        if (mixed.areFormsApart(resource, output)) continue
        const [a, b] = schemas.map(schema => written(resource, schema, output, entry))
        const isAlike = a !== undefined && b !== undefined && a.equals(b)
        const gate = mixed.gateOf(resource, output)
        const isShown = gate === undefined || gate.objection(entry, 'item') === undefined
        if (isShown && a !== undefined && !isAlike) wrong.push(`${nameOf(resource)} ${form}`)
        if (isAlike && !isShown) wrong.push(`${nameOf(resource)} ${form} is not shown`)
        if (isAlike) alike++
        else differing++
      }
    }
    t.strictSame([...new Set(wrong)], [])
    t.comment(`${alike} forms of objects alike, ${differing} not`)
    t.ok(alike > differing)
  })
}

function written(
  resource: Resource,
  schema: Schema,
  output: OutputForm,
  entry: KeyValue,
): Buffer | undefined {
  const out = new ByteWriter()
  const options = { form: output, revision: entry.modRevision, place: 'item' } as const
  const problem = encoderOf(resource, schema).append(out, entry, options)
  return problem instanceof NotExact ? undefined : Buffer.from(out.copy())
}

t.test('requests that minors understand differently are not alike', async t => {
  const isAlike = (minors: readonly [string, string], path: string, accept?: string): boolean => {
    const { mixed, schemas } = pairOf(...minors)
    const registry = new Registry({
      schema: schemas[0],
      installed: builtInResources(schemas[0]),
      definitions: [],
      services: [],
      etcdPrefix: '/registry',
    })
    const target = parseTarget(path)!
    const route = routeRequest('GET', target.path, registry)
    if (route.type !== 'resource') throw new Error(path)
    return mixed.areReadAlike(route, {
      query: target.query,
      isWatch: target.query.flag('watch'),
      preference: { accept, pretty: undefined, userAgent: undefined },
      offer: {
        encodings: builtinEncodings,
        objectEncodings: builtinEncodings,
        hasRouter: true,
        isList: true,
      },
      encryption: undefined,
    })
  }
  const maps = '/api/v1/configmaps'
  const [early, middle, late] = [
    ['1.33', '1.34'],
    ['1.34', '1.35'],
    ['1.35', '1.36'],
  ] as const
  for (const minors of [early, middle, late]) {
    t.ok(isAlike(minors, maps))
    t.ok(isAlike(minors, `${maps}?limit=5`))
    t.ok(isAlike(minors, `${maps}?resourceVersion=5&resourceVersionMatch=NotOlderThan`))
    t.ok(isAlike(minors, `${maps}?watch=1&resourceVersion=5`))
    t.ok(isAlike(minors, `${maps}?limit=x`), 'refused in the same words')
    t.ok(isAlike(minors, `${maps}?labelSelector=a+in+(b)`))
  }
  t.notOk(isAlike(early, `${maps}?resourceVersion=5&resourceVersionMatch=Exact`), 'read from etcd')
  t.notOk(isAlike(early, `${maps}?resourceVersion=5&resourceVersionMatch=<`), 'quoted otherwise')
  t.notOk(isAlike(early, `${maps}?watch=1&resourceVersion=5&allowWatchBookmarks=1`), 'bookmarks')
  const streaming = 'sendInitialEvents=1&resourceVersionMatch=NotOlderThan'
  t.notOk(isAlike(early, `${maps}?watch=1&${streaming}`))
  t.ok(isAlike(middle, `${maps}?watch=1&allowWatchBookmarks=1&${streaming}`))
  t.notOk(isAlike(middle, `${maps}?labelSelector=a+in+(x,,)`))
  t.notOk(isAlike(middle, `${maps}?labelSelector=a//b`), 'another text')
  t.ok(isAlike(late, `${maps}?labelSelector=a//b`))
  const unknown = 'application/json;as=Table;g=meta.k8s.io;v=v9'
  t.notOk(isAlike(late, `${maps}?limit=x`, unknown), 'the other mistake comes first')
  t.ok(isAlike(late, maps, unknown))
})
