/** The write side of a service: the writes, and the controllers that go on around them. */

import { randomInt, randomUUID } from 'node:crypto'
import { type Clock, type Key, keyFromText, type Logger, minKey } from '@watchglass/base'
import { EndingClock } from './ending-clock.ts'
import type { Client } from '@watchglass/etcd'
import type { Simulation } from './simulation/simulated-controllers.ts'
import { LedControllers, type LedControllersOptions } from './simulation/led-controllers.ts'
import {
  Controllers,
  type ControllersOptions,
  type FollowedKeyspaces,
} from './housekeeping/controllers.ts'
import type {
  AnswerFromCluster,
  Follower,
  AccessGate,
  LiveRegistry,
  ObjectPreparation,
  OwnDocument,
  ServerChecks,
} from '@watchglass/cache'
import { type LevelSeats, MirroredFlows } from './access/mirrored-flows.ts'
import {
  ClusterAccess,
  type ClusterAccessOptions,
  type ClusterAccessParts,
} from './access/cluster-access.ts'
import {
  createAdmission,
  createGenerated,
  type GeneratedValues,
  type HookCaller,
  type NumbersInUse,
  ObjectConversions,
  type PluginChoice,
  type WriteServices,
} from '@watchglass/writes'
import { createHttpsCaller, type HttpsCallerOptions } from './webhooks/https-caller.ts'
import { StoredUsages, usageResources } from './pod-rules/stored-usages.ts'
import { usageBy } from './pod-rules/usages.ts'
import { createWriteAnswers, type WriteAnswerOptions } from './api/write.ts'
import { keyPairProblem } from '@watchglass/go'
import type { Keyspace, KeyValue } from '@watchglass/store'
import { ApiClient, type ApiClientOptions } from './runtime/api-client.ts'
import { NamespaceBasics } from './housekeeping/namespace-basics.ts'
import { FreshCluster } from './fresh/fresh-cluster.ts'
import { type OnAsked, timedStore } from './timed-store.ts'
import { serverChecks } from './server-checks.ts'
import { ServiceNumbers, type ServiceRangeOptions } from './service-numbers.ts'
import { createWriteStore } from './write-store.ts'
import { SigningAuthority, type SigningPair } from './authority/signing-authority.ts'

export { isForFreshCluster } from './fresh/fresh-cluster.ts'

export interface WriteSide {
  readonly answer: AnswerFromCluster
  /** Undefined where no webhooks are called. */
  readonly preparation: ObjectPreparation | undefined
  /** Decides who may do what; undefined if nothing of it is asked for. */
  readonly gate: AccessGate | undefined
  /** The seats of priority levels, for metrics. */
  readonly levelSeats: () => readonly LevelSeats[]
  /** Documents that the server has beside those of its API, by path. */
  readonly documents: (() => ReadonlyMap<string, OwnDocument>) | undefined
  /** In the order in which they are told of changes. */
  readonly followers: readonly (Follower | undefined)[]
  /** Names of the checks of a server that takes writes. */
  readonly checks: ServerChecks
  start(): Promise<void>
  /** Objects that are to be there before anybody is served, in words; undefined once they are. */
  missing(): string | undefined
  /** Everything is mirrored. */
  mirrored(): void
  /** Resolves when another process may go on in its place. */
  stop(): Promise<void>
}

export interface WriteSideOptions {
  /** Controllers run here: namespaces are emptied, dependents collected. */
  readonly hasControllers?: boolean | undefined
  /** Controllers and nodes that are made up. */
  readonly simulation?: Simulation | undefined
  /** Objects that every cluster has, made where they are missing, and kept: for an etcd of our own
   *  that may be empty. */
  readonly basics?: ClusterBasics | undefined
  /** Roles and bindings decide who may do what; undefined: everybody who comes here may do
   *  everything. */
  readonly access?: ClusterAccessOptions | undefined
  /** The ranges of addresses and ports of Services. */
  readonly serviceRanges?: ServiceRangeOptions | undefined
  /** The authority that signs approved requests for certificates; undefined: nobody signs. */
  readonly signing?: SigningPair | undefined
  /** Admission plugins to switch on or off. */
  readonly admission?: PluginChoice | undefined
  /** The hosts where webhooks may be. */
  readonly webhooks?: HttpsCallerOptions | undefined
  /** Values that new objects are given; random if it is left out. */
  readonly generated?: GeneratedValues | undefined
}

export interface ClusterBasics {
  /** Certificates (PEM) of whoever signs the certificate of the server, for pods. */
  readonly rootAuthority: string
  /** The server has no certificate, so it has signed nothing. */
  readonly isMadeUp?: boolean | undefined
}

export interface WriteSideParts {
  readonly client: Client
  /** `/registry` */
  readonly prefix: string
  /** HOST:PORT where the server listens. */
  readonly address: string
  readonly registry: LiveRegistry
  readonly storeOf: (keyspace: Key) => Keyspace | undefined
  readonly clock: Clock
  readonly logger: Logger
  /** Watches of a keyspace that wait for something may go on. */
  readonly resumeHeld: (keyspace: Key) => void
  /** Faults on purpose that are switched on now, as those who simulate meet them. */
  readonly faults?: LedControllersOptions['faults']
  /** Undefined where the time that etcd takes is not counted. */
  readonly onAsked?: OnAsked | undefined
}

/** Creates the side of a writable service. */
export function createWriteSide(options: WriteSideOptions, parts: WriteSideParts): WriteSide {
  const { client, prefix, address, registry, storeOf, clock, logger, onAsked } = parts
  const abort = new AbortController()
  const contentsOf = (keyspace: Key): Contents => contentsIn(storeOf(keyspace))
  const numbers = new ServiceNumbers(prefix, contentsOf, clock, options.serviceRanges)
  const caller = options.webhooks && createHttpsCaller(options.webhooks)
  const conversions = caller && conversionsBy(caller, parts, abort.signal)
  const forWrites = {
    client,
    storeOf,
    generated: options.generated,
    admission: pluginsOf(options),
    caller,
    conversions,
    numbers,
    onAsked,
  }
  const writes = createWriteServices(forWrites, clock)
  const state = (): LiveRegistry['state'] => registry.state
  const clientOf = clientsOver({ state, writes, signal: abort.signal })
  const cluster = clientOf('kube-controller-manager')
  const { simulation, basics } = options
  const ending = new EndingClock(clock)
  const common = { clientOf, prefix, contentsOf, clock: ending, logger }
  const flows = new MirroredFlows({ state, storeOf })
  const access = accessOf(options, { ...parts, flows })
  const inNamespaces = basics && new NamespaceBasics({ cluster, ...basics })
  const forControllers = { cluster, ...followedBelow(prefix), ...common, ...readsOf(cluster) }
  const controllers = controllersOf(options, { ...forControllers, basics: inNamespaces })
  const answers = answersOfPods(simulation, parts)
  const { usageOf } = answers
  const led = leading(address, { state, writes })
  const actors =
    simulation &&
    new LedControllers({ simulation, usageOf, faults: parts.faults, storeOf, ...led, ...common })
  const { signal } = abort
  const forFresh = { state, storeOf, address, ...options.serviceRanges, ...writes, ...common }
  const fresh = inNamespaces && new FreshCluster({ ...forFresh, signal, basics: inNamespaces })
  return {
    preparation: conversions,
    answer: createWriteAnswers({ ...writes, access }, answers),
    gate: access?.gate,
    levelSeats: () => flows.seats(),
    documents: access && (() => access.documents),
    followers: [numbers, controllers, actors],
    checks: serverChecks,
    start: async () => fresh?.fill(),
    missing: () => fresh?.missing(),
    mirrored() {
      // It may have been stopped while it was mirrored.
      if (signal.aborted) return
      controllers?.start()
      actors?.start()
      fresh?.keep()
    },
    async stop() {
      abort.abort()
      fresh?.stop()
      controllers?.stop()
      await actors?.stop()
      ending.end()
    },
  }
}

function controllersOf(
  { hasControllers, signing }: WriteSideOptions,
  options: ControllersOptions,
): Controllers | undefined {
  if (hasControllers !== true) return undefined
  return new Controllers({ ...options, authority: signing && new SigningAuthority(signing) })
}

function conversionsBy(
  caller: HookCaller,
  { registry, resumeHeld, clock }: WriteSideParts,
  signal: AbortSignal,
): ObjectConversions {
  const { converted } = registry
  const state = (): LiveRegistry['state'] => registry.state
  return new ObjectConversions({
    state,
    converted,
    caller,
    uid: () => randomUUID(),
    clock,
    signal,
    resumeHeld,
  })
}

/** The answers of simulated pods. Figures are by the rules of the options, or else by those that
 *  clients have stored. */
function answersOfPods(
  simulation: Simulation | undefined,
  { prefix, storeOf, logger }: WriteSideParts,
): WriteAnswerOptions {
  const podRules = simulation?.podRules
  const warn = (reason: string): void => logger.warn('a rule for pods', { reason })
  podRules?.warnings.forEach(warn)
  const keys = usageResources.map(one => keyFromText(`${prefix}/kwok.x-k8s.io/${one}/`))
  const stored = new StoredUsages({
    contents: () => keys.map(key => storeOf(key)?.latest()),
    onProblem: warn,
  })
  const declared = podRules === undefined ? [] : [podRules.usages]
  const usageOf = usageBy(() => [...declared, stored.rules])
  return { hasLogs: simulation?.controllers.has('nodes'), podRules, usageOf }
}

type Contents = Iterable<KeyValue> | undefined

/** Contents of a keyspace now; undefined while the mirror has none of it. */
function contentsIn(keyspace: Keyspace | undefined): Contents {
  const snapshot = keyspace?.latest()
  if (snapshot?.revision === 0) return undefined
  return snapshot?.iterate({ start: minKey, end: undefined }) ?? []
}

/** The API for each manager of what is written. */
function clientsOver(options: ApiClientOptions): (manager: string) => ApiClient {
  const clusters = new Map<string, ApiClient>()
  return manager => {
    const known = clusters.get(manager)
    if (known !== undefined) return known
    const made = new ApiClient({ ...options, manager })
    clusters.set(manager, made)
    return made
  }
}

/** The reads of controllers. */
function readsOf(
  cluster: ApiClient,
): Pick<ControllersOptions, 'objectOf' | 'treeOf' | 'plainOf' | 'registry'> {
  return {
    objectOf: place => cluster.objectOf(place),
    treeOf: ({ resource }, entry) => cluster.treeOf(resource, entry),
    plainOf: ({ resource }, entry) => cluster.plainOf(resource, entry),
    registry: () => cluster.registry,
  }
}

/** The parts by which this process is told from others that simulate. */
function leading(
  address: string,
  options: Pick<ApiClientOptions, 'state' | 'writes'>,
): Pick<LedControllersOptions, 'clusterUntil' | 'identity'> {
  return {
    clusterUntil: signal => new ApiClient({ ...options, signal, manager: 'watchglass' }),
    identity: `${address}_${randomUUID()}`,
  }
}

/** The keyspaces that controllers informer. */
export function followedBelow(prefix: string): FollowedKeyspaces {
  const below = (resource: string): Key => keyFromText(`${prefix}/${resource}/`)
  return {
    namespaces: below('namespaces'),
    pods: below('pods'),
    accounts: below('serviceaccounts'),
    configMaps: below('configmaps'),
    claims: below('persistentvolumeclaims'),
    volumes: below('persistentvolumes'),
    classes: below('volumeattributesclasses'),
    clusterRoles: below('clusterroles'),
    quotas: below('resourcequotas'),
    policies: below('validatingadmissionpolicies'),
    flowSchemas: below('flowschemas'),
    priorityLevels: below('prioritylevelconfigurations'),
    signingRequests: below('certificatesigningrequests'),
  }
}

/** Pods need the account of their namespace where there is somebody who makes it. */
function pluginsOf({ admission, basics, hasControllers }: WriteSideOptions): PluginChoice {
  const { enabled = [], disabled = [] } = admission ?? {}
  const hasAccounts = basics !== undefined && hasControllers === true
  return { enabled, disabled: hasAccounts ? disabled : [...disabled, 'ServiceAccount'] }
}

function accessOf(
  { access }: WriteSideOptions,
  { registry, storeOf, flows, clock, address }: WriteSideParts & Pick<ClusterAccessParts, 'flows'>,
): ClusterAccess | undefined {
  const nowMs = (): number => clock.wallMs()
  const state = (): LiveRegistry['state'] => registry.state
  return (
    access &&
    new ClusterAccess(access, { state, storeOf, flows, nowMs, id: () => randomUUID(), address })
  )
}

const noNumbers: NumbersInUse = {
  hasAddress: () => false,
  hasPort: () => false,
  isInRange: () => true,
  placed: address => address,
}

export function createWriteServices(
  {
    client,
    storeOf = () => undefined,
    numbers,
    generated = createGenerated(() => randomUUID(), randomInt),
    admission: choice = { enabled: [], disabled: [] },
    caller,
    conversions,
    onAsked,
  }: Pick<WriteSideParts, 'client' | 'onAsked'> &
    Partial<Pick<WriteSideParts, 'storeOf'>> &
    Pick<WriteSideOptions, 'generated' | 'admission'> & {
      readonly numbers?: ServiceNumbers | undefined
      readonly caller?: HookCaller | undefined
      readonly conversions?: ObjectConversions | undefined
    },
  clock: Clock,
): WriteServices {
  const asked = createWriteStore(client, clock)
  const timed = onAsked ? timedStore(asked, clock, onAsked) : asked
  const admission = createAdmission({ choice, storeOf, caller })
  const store = numbers === undefined ? timed : numbers.notedIn(timed)
  const own = { store, numbers: numbers ?? noNumbers, keyPairProblem }
  return { ...generated, ...own, clock, admission, conversions }
}
