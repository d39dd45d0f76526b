/** The parts of a service that exist only with an upstream. */

import { minors } from '@watchglass/codec'
import {
  type Clock,
  type HealthCheck,
  type Key,
  keyFromText,
  type Logger,
  prefixRange,
} from '@watchglass/base'
import type { Client } from '@watchglass/etcd'
import { AnsweringVersions } from './answering-versions.ts'
import { CollapsedReads } from './passing/collapsed-reads.ts'
import { InexactEvents } from './passing/inexact-events.ts'
import type { PassedCredentials, PassMetrics, ProxyOptions } from './passing/proxy-options.ts'
import { ReadSwitch } from './read-switch.ts'
import { Comparison, type ComparisonOptions } from './passing/comparison.ts'
import { PassingSide, type PassingServices } from './passing/passing-side.ts'
import { Slots } from './passing/slots.ts'
import { EventFrames } from './passing/event-frames.ts'
import { HeldEvents } from './passing/held-events.ts'
import {
  contentsAt,
  type HttpRequest,
  type Follower,
  type HeldEvent,
  heldIn,
  type LiveRegistry,
  type Mirrors,
  revisionIn,
  type ServerStanding,
  systemRandom,
  type UpstreamFacts,
  type UpstreamSide,
} from '@watchglass/cache'
import { type DecisionPolicy, keyspaceOf, keyspacesOf, type Resource } from '@watchglass/kube'
import { type AggregatedOptions, AggregatedResources } from './aggregated/aggregated-resources.ts'
import { KeyFolders } from './key-folders.ts'
import type { BalancedUpstream } from './upstream/balanced-upstream.ts'
import type { Batch } from '@watchglass/store'
import { declaredIn } from './aggregated/aggregated-resource.ts'
import { Evidence } from './evidence/evidence.ts'
import { Features } from './evidence/features.ts'
import { type ReportOptions, ResourceReport } from './knowledge/report.ts'
import type { PaceLimits } from './evidence/pace.ts'
import { type KnowledgeOptions, UpstreamKnowledge } from './knowledge/knowledge.ts'

export interface UpstreamOptions {
  /** Started and stopped with the service. */
  readonly servers: BalancedUpstream
  /** Minor versions, beside our own, whose built-in resources are answered here. */
  readonly compatibleMinors?: ReadonlySet<number> | undefined
  /** Credentials by which callers are shown to the upstream; by their own if it is left out. */
  readonly passed?: ((request: HttpRequest) => PassedCredentials | undefined) | undefined
  /** All callers are one user, but for those with credentials of their own. */
  readonly isOneUser?: boolean | undefined
  readonly isIdentityHeader?: ((name: string) => boolean) | undefined
  /** The share of reads that are compared with the upstream: 0 to 1. */
  readonly compareShare?: number | undefined
  /** Bounds of the upstream's load by comparisons with our answers. */
  readonly evidencePace?: PaceLimits | undefined
  /** The mirror follows these servers, and no etcd. */
  readonly isSource?: boolean | undefined
  /** Resources that the upstream lists are served also without a definition. */
  readonly discoversResources?: boolean | undefined
}

export interface UpstreamParts {
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: PassMetrics & ComparisonOptions['metrics']
  readonly registry: Pick<LiveRegistry, 'state' | 'setAggregated' | 'setSchema' | 'onRedefined'>
  readonly mirrors: Mirrors
  /** Has the watchers of a keyspace go on that wait for an event to be compared. */
  readonly resumeHeld: (keyspace: Key) => void
  /** Whether a keyspace is kept, and answered from; all are if it is left out. */
  readonly isKept?: ((keyspace: Key) => boolean) | undefined
  /** Clients of the mirrored etcds. */
  readonly clients: readonly Client[]
  /** `/registry` */
  readonly prefix: string
  /** Resources that operators declare of an aggregated server. */
  readonly declared: readonly Resource[]
}

function comparisonOf(
  { compareShare: share = 0 }: UpstreamOptions,
  metrics: ComparisonOptions['metrics'],
): Comparison | undefined {
  if (share === 0) return undefined
  return new Comparison({ share, random: systemRandom, metrics })
}

/** Reads that the mirror cannot answer and that pass to the upstream at the same time
 *  (lib/ARCHITECTURE.md). Where the upstream is the source, what it does not mirror passes as a
 *  matter of course. */
const elsewhereMax = 8

/** The parts that pass reads: answers that are shared, the limit, counts, and the news that the
 *  mirror lacks a resource. */
function passingOf(
  { servers, isSource }: UpstreamOptions,
  { clock, metrics, mirrors }: UpstreamParts,
): Pick<ProxyOptions, 'collapsed' | 'slots' | 'metrics' | 'onLacked'> {
  return {
    collapsed: new CollapsedReads({ upstream: servers, clock, metrics }),
    slots: new Slots(isSource === true ? Infinity : elsewhereMax),
    metrics,
    onLacked: ({ resource, namespace }) => mirrors.want?.(keyspaceOf(resource, namespace)),
  }
}

export class UpstreamProxy implements Follower {
  readonly readSwitch: ReadSwitch
  readonly knowledge: UpstreamKnowledge
  readonly evidence: Evidence
  /** Report of the resources that are answered here, for people. */
  readonly report: ResourceReport
  readonly #servers: BalancedUpstream
  readonly #proxy: ProxyOptions
  readonly #comparison: Comparison | undefined
  readonly #features: Features

  constructor(options: UpstreamOptions, parts: UpstreamParts) {
    const { servers, compatibleMinors = new Set(), passed, isIdentityHeader } = options
    const { clock, logger, metrics, registry, mirrors, isKept = () => true } = parts
    this.#servers = servers
    this.readSwitch = new ReadSwitch(logger)
    const common = commonOf(servers, parts)
    const aggregated = aggregatedOf(common, parts)
    const versions: AnsweringVersions = new AnsweringVersions({
      registry,
      knowledge: () => this.knowledge,
      evidence: () => this.evidence,
      onChange: () => this.#proxy.inexact.forgetAll(),
    })
    const knowledge = new UpstreamKnowledge({
      ...common,
      registry: () => registry.state.registry,
      hasDataOf: minor => minors().includes(`1.${minor}`),
      onVersions: answering => versions.take(answering),
      mixed: () => versions.mixed,
      compatibleMinors,
      isMirrored: keyspace => mirrors.has(keyspace),
      revisionNow: revisionIn(mirrors),
      aggregated,
      discoversResources: options.discoversResources === true,
      isSource: options.isSource === true,
      declared: named => declaredIn(parts.declared, named) !== undefined,
    })
    this.knowledge = knowledge
    registry.onRedefined(() => knowledge.redefined())
    const events = new EventFrames({ upstream: servers, clock, pace: options.evidencePace })
    const ask = (one: HeldEvent): Promise<Uint8Array | string> => events.ask(one)
    const held = new HeldEvents({ clock, logger, resume: parts.resumeHeld, ask })
    const evidence = new Evidence({
      upstreamOf: version => knowledge.upstreamOf(version),
      alikeGateOf: (resource, form) => versions.alikeGateOf(resource, form),
      clock,
      logger,
      pace: options.evidencePace,
      wanted: () => knowledge.comparable(),
      held: keyspace => heldIn(mirrors, keyspace),
      encoderOf: resource => registry.state.encoderOf(resource),
      onConcluded: keyspace => held.concluded(keyspace),
    })
    this.evidence = evidence
    this.#features = featuresOf({ knowledge, evidence }, parts)
    servers.onAnswersAgain(() => {
      knowledge.upstreamIsBack()
      evidence.upstreamIsBack()
    })
    servers.questions.onAnswersAgain(() => evidence.upstreamIsBack())
    const isExcluded = ({ storage }: Resource): boolean =>
      storage !== undefined && !isKept(keyFromText(storage.prefix))
    this.report = reportOf({ knowledge, evidence, aggregated, isExcluded, versions }, parts)
    this.#comparison = comparisonOf(options, metrics)
    this.#proxy = {
      upstream: servers,
      policy: policyOf(this.readSwitch, isExcluded, { knowledge }),
      passed,
      isOneUser: options.isOneUser,
      isIdentityHeader,
      inexact: new InexactEvents(),
      gateOf: (resource, form) => versions.gateOf(resource, form),
      obeys: (feature, resource, form) => this.#features.isObeyed(feature, resource, form),
      mixed: () => versions.mixed,
      isCovered: ({ learned }) => learned !== undefined || knowledge.isVersionCovered,
      held,
      ...passingOf(options, parts),
    }
  }

  /** The upstream as requests see it. */
  sideFor(services: Omit<PassingServices, 'proxy'>): UpstreamSide {
    return new PassingSide({ ...services, proxy: this.#proxy }, this.#comparison)
  }

  applied(keyspace: Key, batch: Batch): void {
    this.knowledge.changed(keyspace)
    this.evidence.applied(keyspace, batch)
  }

  stateChanged(): void {
    this.knowledge.served()
  }

  start(): void {
    this.#servers.start()
    this.knowledge.start()
    this.evidence.start()
    this.report.start()
  }

  async stop(): Promise<void> {
    this.knowledge.stop()
    this.evidence.stop()
    this.#features.stop()
    this.report.stop()
    await this.#servers.stop()
  }

  /** For metrics. */
  facts(): UpstreamFacts {
    const { isVersionCovered, storageStates, unansweredMs } = this.knowledge
    return {
      isUp: this.#servers.problem() === undefined,
      isSwitchedOff: this.readSwitch.isSwitchedOff,
      isVersionCovered,
      unansweredSeconds: unansweredMs / 1_000,
      questions: this.#servers.questions.counts,
      storageStates,
      evidence: this.evidence.figures,
      underWay: this.#servers.underWay,
    }
  }

  /** The servers, for people. */
  servers(): readonly ServerStanding[] {
    return this.#servers.standings()
  }

  /** For /readyz: without an upstream that answers, requests that pass would fail. */
  get checks(): readonly HealthCheck[] {
    return [
      { name: 'upstream', problem: () => this.#servers.problem() },
      {
        name: 'upstream-discovery',
        problem: () => (this.knowledge.isKnown ? undefined : 'discovery or version is not known'),
      },
    ]
  }
}

type CommonParts = Pick<
  KnowledgeOptions,
  'upstream' | 'clock' | 'random' | 'logger' | 'isServed' | 'at'
>

/** Parts of whoever asks the upstream about resources. */
function commonOf(
  servers: BalancedUpstream,
  { clock, logger, mirrors }: UpstreamParts,
): CommonParts {
  const isServed = (keyspace: Key): boolean =>
    mirrors.has(keyspace) && mirrors.keyspace(keyspace).isServed
  const at = contentsAt(mirrors)
  return { upstream: servers.questions, clock, random: systemRandom, logger, isServed, at }
}

function policyOf(
  readSwitch: ReadSwitch,
  isExcluded: (resource: Resource) => boolean,
  { knowledge }: Pick<ReportParts, 'knowledge'>,
): DecisionPolicy {
  return {
    hasUpstream: true,
    readSwitch,
    isExcluded,
    objection: (resource, namespace) => knowledge.objection(resource, namespace),
  }
}

/** The known resources of a server that is no kube-apiserver. */
function aggregatedOf(
  common: Pick<AggregatedOptions, 'upstream' | 'clock' | 'random' | 'logger' | 'isServed' | 'at'>,
  parts: UpstreamParts,
): AggregatedResources {
  const { registry, mirrors, isKept = () => true } = parts
  const aggregated = new AggregatedResources({
    ...common,
    etcd: new KeyFolders(parts.clients),
    schema: () => registry.state.registry.schema,
    root: parts.prefix,
    declared: named => declaredIn(parts.declared, named),
    covers: keyspace => isKept(keyspace) && mirrors.covers(prefixRange(keyspace)),
    onChanged: () => registry.setAggregated(aggregated.resources),
  })
  return aggregated
}

function featuresOf(
  { knowledge, evidence }: Pick<ReportParts, 'knowledge' | 'evidence'>,
  { mirrors, registry, clock }: UpstreamParts,
): Features {
  return new Features({
    upstreamOf: version => knowledge.upstreamOf(version),
    clock,
    evidentsOf: resource => evidence.evidentsOf(resource),
    evidents: () => evidence.evidents(),
    held: keyspace => heldIn(mirrors, keyspace),
    encoderOf: resource => registry.state.encoderOf(resource),
  })
}

function reportOf(
  { knowledge, evidence, versions, ...rest }: ReportParts,
  { registry, mirrors, clock, logger }: UpstreamParts,
): ResourceReport {
  const ofSource = (resource: Resource): number | undefined =>
    keyspacesOf(resource)
      .map(keyspace => mirrors.refusalOf?.(keyspace))
      .find(Boolean)
  return new ResourceReport({
    ...rest,
    resources: () => registry.state.registry.resources,
    listed: () => knowledge.listed,
    objection: knowledge.objection,
    refusalOf: resource => ofSource(resource) ?? knowledge.refusalOf(resource),
    differences: () => evidence.differences(),
    mixedRows: resource => versions.differences(resource),
    clock,
    logger,
  })
}

interface ReportParts extends Pick<ReportOptions, 'aggregated' | 'isExcluded'> {
  readonly versions: AnsweringVersions
  readonly knowledge: UpstreamKnowledge
  readonly evidence: Evidence
}
