/** Pods of one template differ in their names, uids, times, nodes and addresses only, and so do the
 *  writes that make them, bind them and say that they run. These three are worked out once for a
 *  template (`trials.ts`), and stamped for its other pods: a pod took milliseconds of the
 *  processor, nearly all of them to find out again what is the same for all.
 *
 *  Whoever asks for a stamped write gets undefined where there is no stamp, or the stored object is
 *  not what it was made for: then the write goes the whole way. */

import { assert, type Key, type Logger, type Random, randomInt } from '@watchglass/base'
import { textFromMilliseconds } from '@watchglass/go'
import type { KeyValue } from '@watchglass/store'
import type { ApiClient, PodAddresses, PodStamper, StampedPod } from '../runtime/api-client.ts'
import type { ApiPlace } from '../runtime/cluster-api.ts'
import { entryOf } from '@watchglass/writes'
import type { Variables } from '../stamps/stamp.ts'
import type { FoundPod } from '../runtime/read-object.ts'
import type { Pod } from '../runtime/objects.ts'
import { isScripted } from '../containers/scripted-pods.ts'
import { type NodeFact, type PodFact, podFact } from '../runtime/facts.ts'
import { containerId, runningStatus } from './pod-status.ts'
import { type ProvenStamp, Trials, type TrialsOptions } from './trials.ts'

/** The places of values in the variables. */
const [uidAt, suffixAt, nodeAt, podAddressAt, nodeAddressAt, idsAt] = [0, 1, 5, 6, 7, 8]
const [createdAt, boundAt, startedAt] = [0, 1, 2]
const suffixesMax = nodeAt - suffixAt
const message = 'core/v1.Pod'

/** A template is worth a stamp once so many pods of it have been made. */
const worthAfter = 4
/** One that could not be stamped is tried again after so many. */
const retriedAfter = 500
const templatesMax = 200
/** Pods that are on their way to run. */
const podsMax = 50_000
/** The stamps of a template for nodes of different zones. */
const zonesMax = 20

/** Labels of nodes that become labels of pods (`admission/plugins/pod-topology-labels.ts`). */
const zoneLabels = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region']

/** A pod that was stamped, read as any other one. Others that are stamped differ from it in known
 *  fields. */
interface Sample {
  readonly object: Pod
  readonly fact: PodFact
}

interface Sampled extends ProvenStamp {
  sample?: Sample
}

interface Made extends Sampled {
  readonly marks: readonly [Variables, Variables]
}

interface Bound extends Sampled {
  /** Undefined: not known yet; false: there is none. */
  running: Running | false | undefined
}

interface Running extends Sampled {
  readonly containers: readonly string[]
}

/** A stamped pod that does not run yet, as it was written last. */
interface OnTheWay {
  readonly template: Template
  readonly made: Made
  readonly place: ApiPlace
  readonly bound?: Bound
  readonly values: Variables
  readonly sample: Sample
  readonly fact: PodFact
}

interface Template {
  /** Pods that were made of it. */
  count: number
  made: Made | false | undefined
  /** Its pods are written one by one. */
  readonly isOwn: boolean
  readonly bound: Map<string, Bound | false>
}

/** A pod to be made, and by whom. */
interface Creating {
  readonly cluster: ApiClient
  readonly place: ApiPlace
  readonly object: object
}

export interface PodStampsOptions extends TrialsOptions {
  /** The API of those who bind pods and run them. */
  readonly kubelet: ApiClient
  readonly logger: Logger
}

export class PodStamps implements PodStamper {
  readonly #options: PodStampsOptions
  readonly #trials: Trials
  readonly #templates = new Map<string, Template>()
  readonly #pods = new Map<Key, OnTheWay>()

  constructor(options: PodStampsOptions) {
    this.#options = options
    this.#trials = new Trials(options)
  }

  /** A new pod; undefined if there is no stamp for it. */
  async create(
    cluster: ApiClient,
    place: ApiPlace,
    object: object,
  ): Promise<StampedPod | undefined> {
    const template = this.#templateOf(`${place.namespace} ${JSON.stringify(object)}`, object)
    const made = await this.#madeOf(template, { cluster, place, object })
    if (made === undefined) return undefined
    const { services } = cluster
    const texts = [services.uid(), ...Array.from({ length: suffixesMax }, services.nameSuffix)]
    const values = { texts, numbers: [secondsOf(services.clock.wallMs())] }
    const change = { key: keyBy(made, texts), expected: 0 }
    const written = await this.#commit(cluster, change, { stamp: made, values })
    if (written !== undefined && this.#pods.size < podsMax) {
      const name = cluster.placeOf(change.key)?.name ?? ''
      this.#pods.set(change.key, { template, made, place: { ...place, name }, values, ...written })
    }
    return written
  }

  /** A pod that was stamped and does not run yet, as it was written last. Whoever has changed it
   *  since is noticed when the next stamp is stored. Volumes and managers of fields are those of
   *  another pod of the template. */
  find(key: Key): FoundPod | undefined {
    const pod = this.#pods.get(key)
    if (pod === undefined) return undefined
    const { place, fact } = pod
    return { place, object: objectOf(pod), revision: fact.revision, fact }
  }

  /** The pod with its node; undefined if there is no stamp, or somebody has changed the pod: it is
   *  to be read, and goes the whole way from now on. */
  async bind(
    key: Key,
    node: Pick<NodeFact, 'key' | 'name' | 'labels'>,
  ): Promise<StampedPod | undefined> {
    const { kubelet } = this.#options
    const pod = this.#take(key)
    if (pod === undefined) return undefined
    const bound = await this.#boundOf(pod, node)
    if (bound === undefined) return undefined
    const values = filled(pod.values, {
      texts: [[nodeAt, node.name]],
      numbers: [[boundAt, secondsOf(kubelet.services.clock.wallMs())]],
    })
    const change = { key, expected: pod.fact.revision }
    const written = await this.#commit(kubelet, change, { stamp: bound, values })
    if (written !== undefined) this.#pods.set(key, { ...pod, bound, values, ...written })
    return written
  }

  /** The pod when it runs; undefined as for `bind`. */
  async run(key: Key, addresses: PodAddresses): Promise<StampedPod | undefined> {
    const { kubelet } = this.#options
    const pod = this.#take(key)
    const running = pod && (await this.#runningOf(pod))
    if (pod === undefined || running === undefined) return undefined
    const uid = pod.values.texts[uidAt] ?? ''
    const ids = running.containers.map((name, i) => [idsAt + i, containerId(uid, name)] as const)
    const { podAddress, nodeAddress } = addresses
    const values = filled(pod.values, {
      texts: [[podAddressAt, podAddress], [nodeAddressAt, nodeAddress], ...ids],
      numbers: [[startedAt, secondsOf(kubelet.services.clock.wallMs())]],
    })
    const change = { key, expected: pod.fact.revision }
    return this.#commit(kubelet, change, { stamp: running, values })
  }

  has(key: Key): boolean {
    return this.#pods.has(key)
  }

  forget(key: Key): void {
    this.#pods.delete(key)
  }

  #take(key: Key): OnTheWay | undefined {
    const pod = this.#pods.get(key)
    this.#pods.delete(key)
    return pod
  }

  /** Undefined if somebody else was faster. */
  async #commit(
    cluster: ApiClient,
    { key, expected }: { readonly key: Key; readonly expected: number },
    { stamp, values }: { readonly stamp: Sampled; readonly values: Variables },
  ): Promise<(StampedPod & { readonly sample: Sample }) | undefined> {
    const value = stamp.stamp.fill(values)
    const { store } = cluster.services
    const change = { key, expected, value, ttlSeconds: 0 }
    const committed = await store.commit(change, cluster.signal)
    if (committed.type !== 'done') return undefined
    const entry = entryOf(key, value, committed.revision)
    const sample = (stamp.sample ??= sampleOf(cluster, entry))
    return { entry, sample, fact: factOf(sample, entry, values) }
  }

  async #madeOf(template: Template, creation: Creating): Promise<Made | undefined> {
    if (template.isOwn || ++template.count < worthAfter) return undefined
    if (template.made === false) {
      // Whoever decided or counted may be gone after a while.
      if (template.count > retriedAfter) Object.assign(template, { count: 0, made: undefined })
      return undefined
    }
    if (template.made?.isCurrent() === true) return template.made
    template.bound.clear()
    const made = await this.#proveCreate(creation)
    template.made = made ?? false
    if (made !== undefined) {
      const { namespace } = creation.place
      this.#options.logger.debug('pods are stamped from now on', { namespace })
    }
    return made
  }

  /** Pods get the zone of their node. */
  async #boundOf(
    { template, made, place }: OnTheWay,
    node: Pick<NodeFact, 'key' | 'labels'>,
  ): Promise<Bound | undefined> {
    const zone = JSON.stringify(zoneLabels.map(label => node.labels[label] ?? null))
    const { bound: stamps } = template
    const known = stamps.get(zone)
    if (template.made !== made || known === false) return undefined
    if (known?.isCurrent() === true) return known
    if (stamps.size >= zonesMax) stamps.clear()
    const bound = await this.#proveBind(made, place, node.key)
    stamps.set(zone, bound ?? false)
    return bound
  }

  async #runningOf({ made, bound, place }: OnTheWay): Promise<Running | undefined> {
    if (bound === undefined || bound.running === false) return undefined
    if (bound.running?.isCurrent() === true) return bound.running
    const running = await this.#proveRun({ made, bound }, place)
    bound.running = running ?? false
    return running
  }

  #templateOf(text: string, object: object): Template {
    const known = this.#templates.get(text)
    if (known !== undefined) return known
    const [oldest] = this.#templates.keys()
    if (this.#templates.size >= templatesMax && oldest !== undefined) this.#templates.delete(oldest)
    // Scripted pods do not all go the same way.
    const isOwn = isScripted(object as Pod)
    const made: Template = { count: 0, made: undefined, bound: new Map(), isOwn }
    this.#templates.set(text, made)
    return made
  }

  async #proveCreate({ cluster, place, object }: Creating): Promise<Made | undefined> {
    const marks = drawMarks(this.#options.random)
    const proven = await this.#trials.prove(message, marks, ({ texts, numbers }) => {
      const suffixes = texts.slice(suffixAt, suffixAt + suffixesMax)
      const values = { uid: texts[uidAt] ?? '', suffixes, nowMs: at(numbers, createdAt) }
      return this.#trials.run(cluster, { values }, api => api.create(place, object))
    })
    return proven && { ...this.#current(cluster, proven), marks }
  }

  async #proveBind(
    { marks, stamp, key }: Made,
    place: ApiPlace,
    node: Key,
  ): Promise<Bound | undefined> {
    const { kubelet } = this.#options
    const prefix = node.slice(0, node.lastIndexOf('/') + 1)
    const proven = await this.#trials.prove(message, marks, mark => {
      const pod = entryOf(keyBy({ key, marks }, mark.texts), stamp.fill(mark), 1)
      const to = { ...place, name: kubelet.placeOf(pod.key)?.name ?? '' }
      const name = mark.texts[nodeAt] ?? ''
      const values = { uid: '', suffixes: [], nowMs: at(mark.numbers, boundAt) }
      const alias = { made: `${prefix}${name}` as Key, real: node }
      return this.#trials.run(kubelet, { values, live: pod, alias }, api => api.bind(to, name))
    })
    return proven && { ...this.#current(kubelet, proven), running: undefined }
  }

  async #proveRun(
    { made, bound }: { readonly made: Made; readonly bound: Bound },
    place: ApiPlace,
  ): Promise<Running | undefined> {
    const { kubelet } = this.#options
    let containers: readonly string[] = []
    const proofs = made.marks.map(mark => {
      const live = entryOf(keyBy(made, mark.texts), bound.stamp.fill(mark), 1)
      const pod = kubelet.plainOf(place.resource, live) as Pod
      const { initContainers = [], containers: others } = pod.spec
      containers = [...initContainers, ...others].map(({ name }) => name)
      const ids = containers.map(name => containerId(pod.metadata.uid, name))
      return { texts: [...mark.texts.slice(0, idsAt), ...ids], numbers: mark.numbers, live, pod }
    })
    const [first, second] = proofs
    if (first === undefined || second === undefined) return undefined
    const proven = await this.#trials.prove(
      message,
      [first, second],
      ({ texts, numbers, live, pod }) => {
        const nowMs = at(numbers, startedAt)
        const [podAddress = '', nodeAddress = ''] = texts.slice(podAddressAt)
        const now = textFromMilliseconds(nowMs)
        const status = runningStatus(pod, { now, podAddress, nodeAddress })
        const values = { uid: '', suffixes: [], nowMs }
        const to = { ...place, name: pod.metadata.name }
        const write = (api: ApiClient): Promise<unknown> => api.patch(to, { status }, 'status')
        return this.#trials.run(kubelet, { values, live }, write)
      },
    )
    return proven && { ...this.#current(kubelet, proven), containers }
  }

  #current(
    cluster: ApiClient,
    {
      looks,
      ...proven
    }: Pick<ProvenStamp, 'stamp' | 'key'> & {
      readonly looks: Parameters<Trials['isCurrent']>[1]
    },
  ): ProvenStamp {
    const { registry } = cluster
    const isCurrent = (): boolean =>
      cluster.registry === registry && this.#trials.isCurrent(cluster, looks)
    return { ...proven, isCurrent }
  }
}

/** The key of the trial with other values. */
function keyBy({ key, marks }: Pick<Made, 'key' | 'marks'>, texts: readonly string[]): Key {
  let text: string = key
  for (let i = suffixAt; i < nodeAt; i++) {
    const mark = marks[0].texts[i] ?? ''
    if (text.endsWith(mark)) text = text.slice(0, -mark.length) + (texts[i] ?? '')
  }
  return text as Key
}

/** The pod that was stamped first, read as any other. */
function sampleOf(cluster: ApiClient, entry: KeyValue): Sample {
  const resource = cluster.placeOf(entry.key)?.resource
  const object = resource && (cluster.plainOf(resource, entry) as Pod | undefined)
  assert(object !== undefined, 'a stamped pod can be shown')
  return { object, fact: podFact(entry.key, entry.modRevision, object) }
}

/** The facts about another one. */
function factOf({ fact, object }: Sample, entry: KeyValue, values: Variables): PodFact {
  const { key, modRevision: revision } = entry
  const { texts, numbers } = values
  const suffixBytes = key.length - fact.key.length
  assert(suffixBytes === 0, 'names of pods of one template are equally long')
  // A part of the key takes no memory of its own.
  const name = key.slice(key.length - object.metadata.name.length)
  const claims = fact.claims.map(claim => claim.replace(object.metadata.name, () => name))
  return {
    ...fact,
    key,
    revision,
    name,
    claims: claims.length === 0 ? fact.claims : claims,
    uid: texts[uidAt] ?? '',
    createdMs: at(numbers, createdAt),
    node: fact.node === '' ? '' : (texts[nodeAt] ?? ''),
    address: fact.address === '' ? '' : (texts[podAddressAt] ?? ''),
  }
}

/** The pod as the API shows it, but for names of volumes and managers of fields. */
function objectOf({ sample, fact, values }: OnTheWay): Pod {
  const { metadata, spec, status } = sample.object
  const [created, bound] = [at(values.numbers, createdAt), at(values.numbers, boundAt)]
  const lastTransitionTime = textFromMilliseconds(bound)
  const conditions = status?.conditions?.map(one => ({ ...one, lastTransitionTime }))
  return {
    metadata: {
      ...metadata,
      name: fact.name,
      uid: fact.uid,
      creationTimestamp: textFromMilliseconds(created),
    },
    spec: fact.node === '' ? spec : { ...spec, nodeName: fact.node },
    status: conditions === undefined ? (status ?? {}) : { ...status, conditions },
  }
}

interface Values {
  readonly texts: readonly (readonly [index: number, text: string])[]
  readonly numbers: readonly (readonly [index: number, number: number])[]
}

function filled(found: Variables, values: Values): Variables {
  const [texts, numbers] = [[...found.texts], [...found.numbers]]
  for (const [index, text] of values.texts) texts[index] = text
  for (const [index, number] of values.numbers) numbers[index] = number
  return { texts, numbers }
}

function secondsOf(ms: number): number {
  return Math.floor(ms / 1_000)
}

function at(numbers: readonly number[], index: number): number {
  return (numbers[index] ?? 0) * 1_000
}

/** Two times the values for all that differs between pods. Of the second ones the times are equal,
 *  as those of real pods may be, and the texts have other lengths where they may. */
function drawMarks(random: Random): readonly [Variables, Variables] {
  const digit = (): string => 'bcdf2456789'[randomInt(random, 0, 10)] ?? 'b'
  const drawn = (length: number): string => Array.from({ length }, digit).join('')
  const byte = (): number => randomInt(random, 100, 199)
  const uid = (): string => `${drawn(8)}-${drawn(4)}-4${drawn(3)}-8${drawn(3)}-${drawn(12)}`
  const suffixes = (): string[] => Array.from({ length: suffixesMax }, () => drawn(5))
  const address = (): string => `100.${String(byte())}.${String(byte())}.${String(byte())}`
  const first = randomInt(random, 2_000_000_000, 2_100_000_000)
  const one = first + 100_000_000
  return [
    {
      texts: [uid(), ...suffixes(), `n${drawn(12)}`, address(), address()],
      numbers: [first, first + 7, first + 19],
    },
    {
      texts: [
        uid(),
        ...suffixes(),
        `n${drawn(20)}`,
        `11.12.${String(byte())}.13`,
        `10.9.8.${String(byte())}`,
      ],
      numbers: [one, one, one],
    },
  ]
}
