/** The FlowSchemas and priority levels that are mirrored, and which of them a request belongs to. A
 *  stored object is read once; the schemas are put in order once for each change of them. */

import { minKey } from '@watchglass/base'
import type { ResponseHeaders } from '@watchglass/cache'
import type { Attributes, Identity } from '@watchglass/kube'
import type { KeyValue, Snapshot } from '@watchglass/store'
import { type FlowSchemaSpec, isClassified, matchesFlow } from './flow-rules.ts'
import { MirroredObjects, type MirroredObjectsOptions } from './mirrored-objects.ts'

/** A stored schema or level. */
interface FlowObject {
  readonly name: string
  readonly uid: string
  readonly spec: FlowSchemaSpec & LevelSpec
}

interface LevelSpec {
  readonly exempt?: { readonly nominalConcurrencyShares?: number }
  readonly limited?: { readonly nominalConcurrencyShares?: number }
}

/** A priority level, and the requests that kube-apiserver would let run at once there. */
export interface LevelSeats {
  readonly level: string
  readonly seats: number
}

/** `--max-requests-inflight` and `--max-mutating-requests-inflight` of a kube-apiserver that is not
 *  told otherwise. */
const serverSeats = 400 + 200

/** A schema whose level exists. */
interface Flow {
  readonly schema: FlowObject
  readonly headers: ResponseHeaders
}

interface OrderedFlows {
  readonly schemas: Snapshot['root']
  readonly levels: Snapshot['root']
  /** The order in which they are tried. */
  readonly flows: readonly Flow[]
}

export class MirroredFlows {
  readonly #objects: MirroredObjects
  readonly #read = new WeakMap<KeyValue, FlowObject>()
  #ordered: OrderedFlows | undefined

  constructor(options: MirroredObjectsOptions) {
    this.#objects = new MirroredObjects(options, 'flowcontrol.apiserver.k8s.io')
  }

  /** The headers by which kube-apiserver names the schema and the level of a request: uids, since
   *  names could say more than a client is to know. Undefined for a request that is not classified,
   *  and where nothing matches. */
  headersOf(user: Identity, attributes: Attributes): ResponseHeaders | undefined {
    if (!isClassified(attributes)) return undefined
    return this.#flows().find(({ schema }) => matchesFlow(schema.spec, user, attributes))?.headers
  }

  /** Each level has its share of the seats (finishQueueSetReconfigsLocked of apiserver's
   *  pkg/util/flowcontrol/apf_controller.go). */
  seats(): readonly LevelSeats[] {
    const levels = this.#objects.snapshotOf('prioritylevelconfigurations')
    if (levels === undefined) return []
    const all = this.#objectsIn('prioritylevelconfigurations', levels).map(({ name, spec }) => {
      return { level: name, shares: sharesOf(spec) }
    })
    const sum = all.reduce((total, { shares }) => total + shares, 0)
    return all.map(({ level, shares }) => {
      return { level, seats: Math.ceil((serverSeats * shares) / Math.max(sum, 1)) }
    })
  }

  #flows(): readonly Flow[] {
    const schemas = this.#objects.snapshotOf('flowschemas')
    const levels = this.#objects.snapshotOf('prioritylevelconfigurations')
    if (schemas === undefined || levels === undefined) return []
    const known = this.#ordered
    if (known?.schemas === schemas.root && known.levels === levels.root) return known.flows
    const uids = new Map(
      this.#objectsIn('prioritylevelconfigurations', levels).map(({ name, uid }) => [name, uid]),
    )
    const flows = this.#objectsIn('flowschemas', schemas)
      .toSorted(byPrecedence)
      .flatMap(schema => {
        const level = uids.get(schema.spec.priorityLevelConfiguration?.name ?? '')
        return level === undefined ? [] : [{ schema, headers: headersFor(schema.uid, level) }]
      })
    this.#ordered = { schemas: schemas.root, levels: levels.root, flows }
    return flows
  }

  #objectsIn(resource: string, snapshot: Snapshot): FlowObject[] {
    const objects: FlowObject[] = []
    for (const entry of snapshot.iterate({ start: minKey, end: undefined })) {
      const object = this.#read.get(entry) ?? flowObject(this.#objects.plainOf(resource, entry))
      this.#read.set(entry, object)
      objects.push(object)
    }
    return objects
  }
}

function flowObject(plain: unknown): FlowObject {
  const { metadata: { name = '', uid = '' } = {}, spec = {} } = (plain ?? {}) as {
    readonly metadata?: { readonly name?: string; readonly uid?: string }
    readonly spec?: FlowObject['spec']
  }
  return { name, uid, spec }
}

function sharesOf({ exempt, limited }: LevelSpec): number {
  return (limited ?? exempt)?.nominalConcurrencyShares ?? (limited === undefined ? 0 : 30)
}

/** The order in which schemas are tried; names decide where precedences are equal. */
function byPrecedence(a: FlowObject, b: FlowObject): number {
  const difference = (a.spec.matchingPrecedence ?? 0) - (b.spec.matchingPrecedence ?? 0)
  return difference || (a.name < b.name ? -1 : 1)
}

function headersFor(schema: string, level: string): ResponseHeaders {
  return {
    'x-kubernetes-pf-flowschema-uid': schema,
    'x-kubernetes-pf-prioritylevel-uid': level,
  }
}
