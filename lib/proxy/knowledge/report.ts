/** Reports for each resource whether it is answered here, and if not, why and what would change
 *  that: for operators, at GET /resources and in one line of the log when it changes. */

import type { ReportedResource } from '@watchglass/cache'
import { type CancelTimer, type Clock, type Logger, repeat } from '@watchglass/base'
import { groupVersionText, type PassReason, type Resource } from '@watchglass/kube'
import type { AggregatedResources } from '../aggregated/aggregated-resources.ts'
import type { UpstreamResources } from '../aggregated/upstream-resources.ts'

export interface ReportOptions {
  readonly resources: () => readonly Resource[]
  readonly listed: () => UpstreamResources | undefined
  readonly isExcluded: (resource: Resource) => boolean
  readonly objection: (resource: Resource) => PassReason | undefined
  /** The code with which the upstream refuses our own account to list a resource. */
  readonly refusalOf: (resource: Resource) => number | undefined
  readonly aggregated: AggregatedResources
  /** Places where the upstream writes a resource differently. */
  readonly differences: () => readonly { resource: Resource; form: string; at: string }[]
  /** Rows that servers of different minor versions write differently. */
  readonly mixedRows: (resource: Resource) => readonly string[]
  readonly clock: Clock
  readonly logger: Logger
}

const lookIntervalMs = 5_000
/** At most this many are named in the log; all are in the report. */
const namedMax = 20

interface Words {
  readonly why: string
  readonly remedy: string
}

/** The standing of resources without any other reason. */
const words: Partial<Record<PassReason, Words>> = {
  excluded: {
    why: 'it is excluded here',
    remedy: 'take it out of --exclude or --never-cache, or add it to --cache-only',
  },
  'not-stored': { why: 'it is computed, and never stored', remedy: 'nothing' },
  'not-listed': {
    why: 'the upstream does not list it with the verbs get, list and watch',
    remedy: 'switch the API on in the upstream, if it is wanted',
  },
  version: {
    why: 'there is no data of the upstream’s version, or of one of its servers’ versions, or servers of different versions answer on one connection',
    remedy: 'wait until all servers are of one version, or use --compatible-with',
  },
  'versions-differ': {
    why: 'servers of the upstream have different minor versions, which serve it or store it differently',
    remedy: 'wait until all servers are of one version',
  },
  'stored-version': {
    why: 'by the storageVersionHash in its discovery, the upstream stores it in another version than servers of its minor version do',
    remedy:
      'look at --runtime-config and the feature gates of the upstream; with several servers, start all with the same flags',
  },
  conversion: {
    why: 'objects are stored in another version, and only the upstream can convert them',
    remedy: 'ask for the version that is stored',
  },
  'not-ready': {
    why: 'it is not read yet: from etcd that takes a moment; without etcd it begins with the first list or watch of it',
    remedy: 'wait; without etcd list or watch it, or start with --mirror all',
  },
  unproven: {
    why: 'the upstream was not seen yet to have the same objects, or, where neither side has one, lists with the revisions of this etcd',
    remedy:
      'wait some seconds while anything is written to etcd; if that does not help, give --etcd, --prefix and --etcd-for what the upstream stores it with',
  },
}

/** The upstream has answered, and it is no: what else could be wrong need not be looked at. */
function refused(code: number): Words {
  const why = `the upstream answers ${code} when our own account lists it`
  return code === 401
    ? { why, remedy: 'look at --upstream-token-file, or at the account that the kubeconfig names' }
    : {
        why,
        remedy:
          'let our account get, list and watch it (deploy/kubernetes/proxy/rbac.yaml); or nothing: it passes',
      }
}

export class ResourceReport {
  readonly #options: ReportOptions
  #cancel: CancelTimer = () => {}
  #said = ''
  #seen = ''

  constructor(options: ReportOptions) {
    this.#options = options
  }

  /** Checks periodically whether something has changed. */
  start(): void {
    this.#cancel = repeat(this.#options.clock, lookIntervalMs, () => this.#look())
  }

  stop(): void {
    this.#cancel()
  }

  all(): readonly ReportedResource[] {
    return this.#options.resources().filter(this.#isShown).map(this.#reported)
  }

  /** Built-in resources that are not listed are left out: an aggregated server has none of them. */
  readonly #isShown = (resource: Resource): boolean => {
    const { aggregated, listed } = this.#options
    return aggregated.has(resource) || listed()?.find(resource) !== undefined
  }

  readonly #reported = (resource: Resource): ReportedResource => {
    const { objection, isExcluded, aggregated, differences, mixedRows } = this.#options
    const { group, version, storage } = resource
    const reason = isExcluded(resource)
      ? 'excluded'
      : (this.#alwaysPasses(resource) ?? objection(resource))
    const standing = aggregated.has(resource) ? aggregated.standingOf(resource) : undefined
    const known = reason === undefined || reason === 'excluded' ? undefined : standing
    const said = reason === undefined ? undefined : this.#wordsOf(resource, reason)
    const differing = differences().filter(one => isSame(one.resource, resource))
    return {
      groupVersion: groupVersionText(group, version),
      resource: resource.resource,
      isAnsweredHere: reason === undefined,
      storedUnder: storage?.prefix,
      storedAs:
        storage === undefined
          ? undefined
          : `${groupVersionText(storage.group, storage.version)} ${storage.kind} (${storage.encoding})`,
      reason,
      why: known?.why ?? said?.why,
      whatWouldChangeThat: known?.remedy ?? said?.remedy,
      remark: aggregated.remarkOf(resource),
      formsThatDiffer: differing.map(({ form, at }) => `${form}: ${at}`),
      versionsDifferIn: mixedRows(resource),
    }
  }

  #wordsOf(resource: Resource, reason: PassReason): Words | undefined {
    const isOpen = reason === 'unproven' || reason === 'not-ready'
    const refusal = isOpen ? this.#options.refusalOf(resource) : undefined
    return refusal === undefined ? words[reason] : refused(refusal)
  }

  #alwaysPasses({ storage }: Resource): PassReason | undefined {
    return storage?.conversion === 'webhook' ? 'conversion' : undefined
  }

  /** Logs a change when it has lasted for a while. */
  #look(): void {
    if (this.#options.listed() === undefined) return
    const all = this.all()
    const passing = all.filter(one => !one.isAnsweredHere)
    const names = passing.map(one => `${one.resource}.${one.groupVersion}: ${one.reason}`)
    const now = names.join('; ')
    const isSettled = now === this.#seen
    this.#seen = now
    if (!isSettled || now === this.#said) return
    this.#said = now
    this.#options.logger.info('resources that are answered here have changed: see GET /resources', {
      answered: all.length - passing.length,
      passing: passing.length,
      which: names.slice(0, namedMax).join('; '),
    })
  }
}

function isSame(a: Resource, b: Resource): boolean {
  return a.group === b.group && a.version === b.version && a.resource === b.resource
}
