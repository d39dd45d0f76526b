/** Writes: every verb and media type of a body, what is refused, and what etcd then holds (which
 *  the history says). */

import {
  applyPatch,
  jsonPatch,
  kubectl,
  mergePatch,
  protobuf,
  strategicPatch,
  table,
  yaml,
} from '../media-types.ts'
import type { JsonObject, Question, Recorder, Reply } from '../recorder.ts'
import { type Part, widgets } from './part.ts'

const space = '/api/v1/namespaces/scratch'
const maps = `${space}/configmaps`

type Write = (
  method: string,
  path: string,
  body?: Question['body'],
  more?: Partial<Question>,
) => Promise<Reply>

const map = (name: string, more: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data: { k: 'v' },
  ...more,
})

export const writes: Part = {
  name: 'writes',
  what: 'creates, updates, patches, apply, deletes, subresources',
  async ask(recorder) {
    const write: Write = (method, path, body, more = {}) =>
      recorder.ask({ area: 'write', method, path, body, ...more })
    await recorder.tell('POST', '/api/v1/namespaces', { metadata: { name: 'scratch' } })
    await creates(write)
    await updates(write)
    await patches(write)
    await applies(write)
    await deployments(write)
    await pods(write)
    await customWrites(write)
    await deletes(write, recorder)
  },
}

async function creates(write: Write): Promise<void> {
  await write('POST', maps, map('w1'))
  await write('POST', maps, map('w1'))
  await write('POST', `${maps}?dryRun=All`, map('w-dry'))
  await write('POST', `${maps}?dryRun=All`, map('w1'))
  await write('POST', `${maps}?dryRun=Some`, map('w-dry'))
  const text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: w-yaml}\ndata:\n  a: "1"\n'
  await write('POST', maps, text, { type: yaml })
  await write('POST', maps, { metadata: { generateName: 'gen-' } })
  for (const [i, accept] of [table, kubectl, protobuf, yaml, 'text/html'].entries()) {
    await write('POST', maps, map(`w-form-${i}`), { accept })
  }
  await write('POST', maps, map('w-text'), { type: 'text/plain' })
  await write('POST', maps, 'no CBOR', { type: 'application/cbor' })
  for (const validation of ['Strict', 'Warn', 'Ignore', 'Nope']) {
    const path = `${maps}?fieldValidation=${validation}`
    await write('POST', path, map(`w-${validation.toLowerCase()}`, { bogus: 1 }))
    await write('POST', path, '{"metadata":{"name":"w-dup"},"data":{"a":"1"},"data":{"a":"2"}}')
    await write('DELETE', `${maps}/w-dup`)
  }
  await write('POST', `${maps}?fieldManager=my-manager`, map('w-manager'))
  await write('POST', `${maps}?fieldManager=${'x'.repeat(129)}`, map('w-manager-2'))
  for (const metadata of [{}, { name: 'Bad_Name' }, { name: 'w-ns', namespace: 'shop' }]) {
    await write('POST', maps, { metadata })
  }
  await write('POST', maps, { metadata: { name: 'w-labels', labels: { 'a b': 'c d' } } })
  await write('POST', maps, { metadata: { name: 'w-rv', resourceVersion: '5' } })
  await write('POST', maps, { ...map('w-kind'), kind: 'Secret' })
  await write('POST', maps, { ...map('w-kind'), apiVersion: 'apps/v1' })
  for (const body of [
    '',
    '{"apiVersion":',
    '[]',
    'null',
    '{"metadata":{"name":"w"},"data":{"a":1}}',
  ]) {
    await write('POST', maps, body)
  }
  await write('POST', '/api/v1/namespaces/nowhere/configmaps', map('w1'))
  await write('POST', '/api/v1/namespaces/doomed/configmaps', map('late'))
  await write('POST', `${space}/services`, {
    metadata: { name: 'w-service' },
    spec: { ports: [{ port: 80 }], selector: { app: 'web' } },
  })
  await write('POST', `${space}/services`, { metadata: { name: 'no-ports' }, spec: {} })
  await write('POST', `${space}/secrets`, { metadata: { name: 's' }, stringData: { a: 'b' } })
}

async function updates(write: Write): Promise<void> {
  const one = `${maps}/w1`
  const { object } = await write('PATCH', one, { data: { k: 'v0' } }, { type: mergePatch })
  const changed = (data: object, metadata: object = {}): object => ({
    ...object,
    metadata: { ...object?.metadata, ...metadata },
    data,
  })
  await write('PUT', one, changed({ k: 'v1' }))
  await write('PUT', one, changed({ k: 'v2' }))
  await write('PUT', one, changed({ k: 'v2' }, { resourceVersion: '' }))
  await write('PUT', one, changed({ k: 'v2' }, { resourceVersion: undefined }))
  await write('PUT', one, changed({}, { resourceVersion: '', uid: 'another' }))
  await write('PUT', one, changed({}, { resourceVersion: '', name: 'another' }))
  await write('PUT', `${one}?dryRun=All`, changed({ dry: 'run' }, { resourceVersion: '' }))
  await write('PUT', `${maps}/missing`, map('missing'))
  await write('PUT', `${space}/endpoints/by-update`, {
    metadata: { name: 'by-update' },
    subsets: [],
  })
}

async function patches(write: Write): Promise<void> {
  const one = `${maps}/w1`
  const merge = { type: mergePatch }
  for (const body of [
    { data: { m: '1' } },
    { data: { m: null } },
    { data: { m: null } },
    { metadata: { resourceVersion: '3' }, data: { x: 'y' } },
    { data: { k: 5 } },
    { bogus: 1 },
    { metadata: { name: 'another' } },
  ]) {
    await write('PATCH', one, body, merge)
  }
  await write('PATCH', `${one}?fieldValidation=Strict`, { bogus: 1 }, merge)
  await write('PATCH', one, '{"data":', merge)
  await write('PATCH', `${maps}/missing`, { data: {} }, merge)
  const operations = { type: jsonPatch }
  for (const body of [
    [{ op: 'add', path: '/data/j', value: 'J' }],
    [{ op: 'test', path: '/data/j', value: 'no' }],
    [{ op: 'remove', path: '/data/none' }],
    [{ op: 'move', from: '/data/j', path: '/data/l' }],
    [{ op: 'copy', from: '/data/l', path: '/data/n' }],
    [{ op: 'nothing', path: '/data/l' }],
    {},
  ]) {
    await write('PATCH', one, body, operations)
  }
  const strategic = { type: strategicPatch }
  await write('PATCH', one, { data: { s: '1', $patch: 'merge' } }, strategic)
  await write('PATCH', one, { data: { $patch: 'replace', only: '1' } }, strategic)
  await write('PATCH', one, { data: {} }, { type: 'application/json' })
}

async function applies(write: Write): Promise<void> {
  const one = `${maps}/applied`
  const apply = { type: applyPatch }
  const by = (manager: string, force = ''): string => `${one}?fieldManager=${manager}${force}`
  await write('PATCH', by('one'), map('applied'), apply)
  await write('PATCH', by('one'), map('applied', { data: { k: 'v', l: '2' } }), apply)
  await write('PATCH', by('two'), map('applied', { data: { k: 'other' } }), apply)
  await write('PATCH', by('two', '&force=true'), map('applied', { data: { k: 'other' } }), apply)
  await write('PATCH', by('one'), map('applied', { data: {} }), apply)
  await write('PATCH', one, map('applied'), apply)
  await write('PATCH', `${maps}/another?fieldManager=one`, map('applied'), apply)
}

async function deployments(write: Write): Promise<void> {
  const path = '/apis/apps/v1/namespaces/scratch/deployments'
  const labels = { app: 'web' }
  const containers = [{ name: 'web', image: 'nginx' }]
  const template = { metadata: { labels }, spec: { containers } }
  const spec = { replicas: 2, selector: { matchLabels: labels }, template }
  await write('POST', path, { metadata: { name: 'web' }, spec })
  await write('POST', path, { metadata: { name: 'bad' }, spec: { ...spec, replicas: -1 } })
  const strategic = { type: strategicPatch }
  const image = { containers: [{ name: 'web', image: 'nginx:2' }] }
  await write('PATCH', `${path}/web`, { spec: { template: { spec: image } } }, strategic)
  const other = { containers: [{ name: 'other', image: 'busybox' }] }
  await write('PATCH', `${path}/web`, { spec: { template: { spec: other } } }, strategic)
  await write(
    'PATCH',
    `${path}/web`,
    { spec: { selector: { matchLabels: { a: 'b' } } } },
    strategic,
  )
  await write('PATCH', `${path}/web/scale`, { spec: { replicas: 3 } }, { type: mergePatch })
  await write('PATCH', `${path}/web/status`, { status: { replicas: 3 } }, { type: mergePatch })
}

async function pods(write: Write): Promise<void> {
  const path = `${space}/pods`
  const spec = { containers: [{ name: 'a', image: 'busybox' }] }
  await write('POST', path, { metadata: { name: 'p' }, spec })
  await write('POST', path, {
    metadata: { name: 'bad' },
    spec: { ...spec, restartPolicy: 'Sometimes' },
  })
  await write('POST', path, { metadata: { name: 'bad' }, spec: {} })
  const target = { apiVersion: 'v1', kind: 'Node', name: 'worker-a' }
  await write('POST', `${path}/p/binding`, { metadata: { name: 'p' }, target })
  await write('POST', `${path}/p/binding`, { metadata: { name: 'p' }, target })
  await write('PATCH', `${path}/p/status`, { status: { phase: 'Running' } }, { type: mergePatch })
  await write('PATCH', `${path}/p`, { spec: { nodeName: 'worker-b' } }, { type: mergePatch })
  await write('DELETE', `${path}/p?gracePeriodSeconds=30`)
  await write('DELETE', `${path}/p?gracePeriodSeconds=0`)
}

async function customWrites(write: Write): Promise<void> {
  const widget = (name: string, spec: object): JsonObject => ({
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name },
    spec,
  })
  await write('POST', widgets, widget('w-red', { color: 'red', size: 1 }))
  await write('POST', widgets, widget('w-bad', { color: 7 }))
  await write('POST', `${widgets}?fieldValidation=Strict`, widget('w-more', { bogus: 1 }))
  await write('PATCH', `${widgets}/w-red`, { spec: { size: 2 } }, { type: mergePatch })
  await write('PATCH', `${widgets}/w-red`, { spec: {} }, { type: strategicPatch })
  const applied = widget('w-red', { color: 'green' })
  await write('PATCH', `${widgets}/w-red?fieldManager=x`, applied, { type: applyPatch })
  await write('DELETE', `${widgets}/w-red`)
}

async function deletes(write: Write, { marks }: Recorder): Promise<void> {
  await write('DELETE', `${maps}/missing`)
  await write('DELETE', `${maps}/w-yaml?dryRun=All`)
  await write('DELETE', `${maps}/w-yaml`, { preconditions: { uid: 'another' } })
  await write('DELETE', `${maps}/w-yaml`, {
    preconditions: { resourceVersion: String(marks['end']) },
  })
  await write('DELETE', `${maps}/w-yaml`, { propagationPolicy: 'Sideways' })
  await write('DELETE', `${maps}/w-yaml`)
  await write('POST', maps, map('w-kept', { metadata: { name: 'w-kept', finalizers: ['a.b/c'] } }))
  await write('DELETE', `${maps}/w-kept`)
  await write('DELETE', `${maps}/w-kept`)
  const freed = { metadata: { finalizers: null } }
  await write('PATCH', `${maps}/w-kept`, freed, { type: mergePatch })
  await write('DELETE', `${maps}/w-manager`, undefined, { accept: protobuf })
}
