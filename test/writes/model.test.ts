/** Random writes against a model of the API's rules, which knows nothing of how they are done:
 *  which conflict, which generation, what is left to whom, and when an object is gone.
 *  `WRITE_SEED=n` replays a run. */

import t from 'tap'
import { createRandom } from '../../lib/base/random.ts'
import { protobufFromJson } from '../../lib/codec/transcode/transcode.ts'
import { parseQuery } from '../../lib/kube/request/request.ts'
import { StatusError } from '../../lib/kube/status.ts'
import { runWrite } from '../../lib/writes/operations/run-write.ts'
import type { Verb } from '../../lib/kube/request/request.ts'
import { effort } from '../support/effort.ts'
import {
  applyTo,
  entriesText,
  type Model,
  ownersIn,
  ownersText,
  plain,
  type ShownObject,
} from '../support/kube/writes/model.ts'
import {
  type Asking,
  MemoryStore,
  namespaceKey,
  writesOver,
} from '../support/kube/writes/memory-store.ts'

const operations = 1_000 * effort
const seed = Number(process.env['WRITE_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

/** A PodTemplate-like object whose free map is the labels of its template: a Deployment, which
 *  counts generations. */
const kind = { group: 'apps', version: 'v1', resource: 'deployments' }

function body(
  name: string,
  data: ReadonlyMap<string, string>,
  extra: object = {},
  spec: object = {},
): object {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, ...extra },
    spec: {
      selector: { matchLabels: { app: 'a' } },
      template: {
        metadata: { labels: { app: 'a', ...Object.fromEntries(data) } },
        spec: { containers: [{ name: 'c', image: 'i:1' }] },
      },
      ...spec,
    },
  }
}

t.test(`random writes keep the rules (WRITE_SEED=${seed})`, async t => {
  const random = createRandom(seed)
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random.next() * of.length)]!
  const store = new MemoryStore()
  const namespace = protobufFromJson(
    Buffer.from(
      '{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"ns"},"status":{"phase":"Active"}}',
    ),
  )
  store.put(namespaceKey, namespace as Uint8Array)
  const sessionOf = writesOver(store, random)
  const models = new Map<string, Model>()
  const failures: string[] = []

  /** The status code, and the object if there is one. */
  const ask = async (
    verb: Verb,
    asking: Partial<Asking>,
    { sent, type, query = '' }: { sent?: unknown; type?: string; query?: string } = {},
  ): Promise<{ code: number; shown?: ShownObject | undefined }> => {
    const session = sessionOf({ ...kind, ...asking })
    const text = sent === undefined ? '' : JSON.stringify(sent)
    try {
      const written = await runWrite(session, {
        verb,
        query: parseQuery(query),
        contentType: type,
        readBody: async () => Buffer.from(text),
      })
      if (written.type !== 'object') return { code: written.code }
      const out = JSON.stringify(plain(session.treeOf(written.entry)))
      return { code: written.code, shown: JSON.parse(out) as ShownObject }
    } catch (error) {
      if (error instanceof StatusError) return { code: error.status.code }
      throw error
    }
  }

  const names = ['a', 'b', 'c', 'd']
  const keys = ['k1', 'k2', 'k3']
  const managers = ['m1', 'm2', 'm3']
  const randomData = (): Map<string, string> =>
    new Map(keys.filter(() => random.next() < 0.5).map(key => [key, pick(['x', 'y'])]))

  const expect = (what: string, got: number, wanted: number): boolean => {
    if (got !== wanted) failures.push(`${what}: ${got} instead of ${wanted}`)
    return got === wanted
  }

  const checkShown = (what: string, name: string, shown: ShownObject | undefined): void => {
    const model = models.get(name)
    if (model === undefined || shown === undefined) return
    const { metadata, spec } = shown
    const { app: _app, ...labels } = spec.template.metadata.labels
    const wanted = entriesText(model.data)
    if (entriesText(Object.entries(labels)) !== wanted) {
      failures.push(`${what}: data ${JSON.stringify(labels)} instead of ${wanted}`)
    }
    if (metadata.generation !== model.generation) {
      failures.push(`${what}: generation ${metadata.generation} instead of ${model.generation}`)
    }
    if ((metadata.labels?.l ?? '') !== model.label) {
      failures.push(`${what}: label ${metadata.labels?.l}`)
    }
    if (JSON.stringify(metadata.finalizers ?? []) !== JSON.stringify(model.finalizers)) {
      failures.push(`${what}: finalizers ${JSON.stringify(metadata.finalizers)}`)
    }
    if ((metadata.deletionTimestamp !== undefined) !== model.isBeingDeleted) {
      failures.push(`${what}: deletion`)
    }
    const owners = ownersIn(shown)
    const wantedOwners = ownersText(model.owners)
    if (owners !== wantedOwners) {
      failures.push(`${what}: owners ${owners} instead of ${wantedOwners}`)
    }
    model.version = Number(metadata.resourceVersion)
  }

  /** The data of an update by a manager: what it changes is its own from then on. */
  const takeOver = (model: Model, manager: string, data: ReadonlyMap<string, string>): void => {
    const changed = [...data]
      .filter(([key, value]) => model.data.get(key) !== value)
      .map(([key]) => key)
    const removed = [...model.data.keys()].filter(key => !data.has(key))
    for (const set of model.owners.values()) {
      for (const key of [...changed, ...removed]) set.delete(key)
    }
    if (changed.length > 0) {
      const own = model.owners.get(`Update ${manager}`) ?? new Set<string>()
      for (const key of changed) own.add(key)
      model.owners.set(`Update ${manager}`, own)
    }
    if (changed.length + removed.length > 0) model.generation++
    model.data = new Map(data)
  }

  const steps: Record<string, (name: string) => Promise<void>> = {
    async create(name) {
      const data = randomData()
      const finalizers = random.next() < 0.3 ? ['x.io/f'] : []
      const manager = pick(managers)
      const known = models.get(name)
      const { code, shown } = await ask(
        'create',
        { manager },
        { sent: body(name, data, { finalizers }) },
      )
      if (!expect(`create ${name}`, code, known === undefined ? 201 : 409) || shown === undefined) {
        return
      }
      models.set(name, {
        uid: shown.metadata.uid,
        version: Number(shown.metadata.resourceVersion),
        generation: 1,
        data,
        label: '',
        finalizers,
        isBeingDeleted: false,
        owners: new Map([[`Update ${manager}`, new Set(data.keys())]]),
      })
      checkShown(`create ${name}`, name, shown)
    },
    async update(name) {
      const model = models.get(name)
      const data =
        model === undefined || random.next() < 0.3 ? new Map(model?.data ?? []) : randomData()
      const version = pick(['', 'current', 'stale'])
      const uid = random.next() < 0.1 ? '00000000-0000-0000-0000-000000000000' : ''
      const resourceVersion =
        model === undefined || version === ''
          ? ''
          : String(model.version - (version === 'stale' ? 1 : 0))
      const manager = pick(managers)
      const extra = {
        resourceVersion,
        ...(uid === '' ? {} : { uid }),
        finalizers: model?.finalizers ?? [],
        ...(model?.label === '' ? {} : { labels: { l: model?.label } }),
      }
      const { code, shown } = await ask(
        'update',
        { name, manager },
        { sent: body(name, data, extra) },
      )
      const wanted = model === undefined ? 404 : uid !== '' || version === 'stale' ? 409 : 200
      if (!expect(`update ${name}`, code, wanted) || model === undefined || code !== 200) return
      const before = model.version
      const isSame = entriesText(data) === entriesText(model.data)
      takeOver(model, manager, data)
      checkShown(`update ${name}`, name, shown)
      if (isSame && model.version !== before) {
        failures.push(`update ${name}: an unchanged object was written`)
      }
    },
    async patch(name) {
      const model = models.get(name)
      const key = pick(keys)
      const value = pick(['x', 'y', null])
      const manager = pick(managers)
      const sent = { spec: { template: { metadata: { labels: { [key]: value } } } } }
      const type = pick(['application/merge-patch+json', 'application/strategic-merge-patch+json'])
      const { code, shown } = await ask('patch', { name, manager }, { sent, type })
      if (!expect(`patch ${name}`, code, model === undefined ? 404 : 200) || model === undefined) {
        return
      }
      const data = new Map(model.data)
      if (value === null) data.delete(key)
      else data.set(key, value)
      takeOver(model, manager, data)
      checkShown(`patch ${name}`, name, shown)
    },
    async label(name) {
      const model = models.get(name)
      const label = pick(['p', 'q'])
      const sent = { metadata: { labels: { l: label } } }
      const { code, shown } = await ask(
        'patch',
        { name },
        { sent, type: 'application/merge-patch+json' },
      )
      if (!expect(`label ${name}`, code, model === undefined ? 404 : 200) || model === undefined) {
        return
      }
      model.label = label
      checkShown(`label ${name}`, name, shown)
    },
    async status(name) {
      const model = models.get(name)
      const sent = {
        spec: { replicas: 9 },
        status: { observedGeneration: Math.floor(random.next() * 99) },
      }
      const asking = { name, subresource: 'status' }
      const { code, shown } = await ask('patch', asking, {
        sent,
        type: 'application/merge-patch+json',
      })
      if (!expect(`status ${name}`, code, model === undefined ? 404 : 200) || model === undefined) {
        return
      }
      checkShown(`status ${name}`, name, shown)
    },
    async finalizers(name) {
      const model = models.get(name)
      const finalizers = random.next() < 0.5 ? [] : ['x.io/f']
      const sent = { metadata: { finalizers } }
      const { code, shown } = await ask(
        'patch',
        { name },
        { sent, type: 'application/merge-patch+json' },
      )
      const isAdded = model?.isBeingDeleted === true && finalizers.length > model.finalizers.length
      const wanted = model === undefined ? 404 : isAdded ? 422 : 200
      if (!expect(`finalizers ${name}`, code, wanted) || model === undefined || isAdded) return
      model.finalizers = finalizers
      if (model.isBeingDeleted && finalizers.length === 0) models.delete(name)
      else checkShown(`finalizers ${name}`, name, shown)
    },
    async remove(name) {
      const model = models.get(name)
      const isWrong = random.next() < 0.2
      const isDryRun = random.next() < 0.2
      const sent = isWrong ? { preconditions: { uid: 'other' } } : undefined
      const query = isDryRun && !isWrong ? 'dryRun=All' : ''
      const { code } = await ask('delete', { name }, { sent, query })
      const wanted = model === undefined ? 404 : isWrong ? 409 : 200
      if (
        !expect(`delete ${name}`, code, wanted) ||
        model === undefined ||
        code !== 200 ||
        query !== ''
      ) {
        return
      }
      if (model.finalizers.length === 0) models.delete(name)
      else if (!model.isBeingDeleted) {
        model.isBeingDeleted = true
        model.generation++
        model.version = store.revision
      }
    },
    async apply(name) {
      const model = models.get(name)
      const manager = pick(managers)
      const force = random.next() < 0.5
      const data = randomData()
      const id = `Apply ${manager}`
      const sent = body(name, data)
      const query = `fieldManager=${manager}${force ? '&force=true' : ''}`
      const type = 'application/apply-patch+yaml'
      const { code, shown } = await ask('patch', { name }, { sent, type, query })
      const isTaken = [...data].some(([key, value]) =>
        [...(model?.owners ?? [])].some(
          ([owner, set]) => owner !== id && set.has(key) && model?.data.get(key) !== value,
        ),
      )
      const wanted = model === undefined ? 201 : isTaken && !force ? 409 : 200
      if (!expect(`apply ${name}`, code, wanted) || code >= 400 || shown === undefined) return
      if (model === undefined) {
        models.set(name, {
          uid: shown.metadata.uid,
          version: 0,
          generation: 1,
          data,
          label: '',
          finalizers: [],
          isBeingDeleted: false,
          owners: new Map([[id, new Set(data.keys())]]),
        })
      } else applyTo(model, id, data)
      checkShown(`apply ${name}`, name, shown)
    },
  }

  const weights = [
    'create',
    'update',
    'update',
    'patch',
    'patch',
    'label',
    'status',
    'finalizers',
    'remove',
    'apply',
    'apply',
  ]
  for (let i = 0; i < operations && failures.length === 0; i++) {
    await steps[pick(weights)]?.(pick(names))
    if (failures.length > 0) failures.push(`after ${i} writes`)
  }
  t.strictSame(failures, [])
  t.equal(store.entries.size, models.size + 1, 'nothing else is stored')
})
