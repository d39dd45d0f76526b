/** The differences between answers of servers of different minor versions behind one address, as
 *  during the upgrade of a cluster.
 *
 *  Everything is derived from the data of these minors (rows.ts). A resource whose rows are equal
 *  is answered as if there were one minor. One whose rows about the resource itself differ is not
 *  answered at all. Otherwise each object is written as each minor writes it, and shown if the
 *  bytes are equal (gate.ts); so are the lists and bookmarks around objects. Requests are planned
 *  as each minor plans them, so that options, selectors and refusals are compared, too. */

import { CacheError, NotExact } from '@watchglass/base'
import {
  type Gate,
  negotiate,
  type ObjectEncoder,
  type OutputForm,
  type Schema,
} from '@watchglass/codec'
import {
  type AskedRead,
  planAsked,
  type Planned,
  type Resource,
  type ResourceRoute,
  statusFromError,
  statusJson,
} from '@watchglass/kube'
import { MinorsGate, nothingAlike } from './gate.ts'
import { differingRows, type Part } from './rows.ts'

export interface MixedMinorsOptions {
  /** Schemas of the minors, two at least. */
  readonly schemas: readonly Schema[]
  /** Encoder of a resource's objects in a minor. */
  readonly encoderOf: (resource: Resource, schema: Schema) => ObjectEncoder | NotExact
}

export class MixedMinors {
  readonly #options: MixedMinorsOptions
  readonly #name: string
  readonly #known = new WeakMap<Resource, Map<Part, readonly string[]>>()
  /** By resource and form: made once, as everything in them is derived from data. */
  readonly #gates = new WeakMap<Resource, Map<string, Gate | undefined>>()

  constructor(options: MixedMinorsOptions) {
    this.#options = options
    this.#name = options.schemas.map(({ minor }) => minor).join(' ')
  }

  /** True if no read of the resource is answered alike: not all minors serve it, or they store it
   *  differently. */
  areApart(resource: Resource): boolean {
    return this.#differing(resource, 'whole').length > 0
  }

  /** The differences in words for people: `field core/v1.PodSpec.workloadRef`. */
  differences(resource: Resource): readonly string[] {
    return [...this.#differing(resource, 'whole'), ...this.#differing(resource, 'objects')]
  }

  /** The gate that objects in a form must pass; undefined if all of them are written alike. */
  gateOf(resource: Resource, output: OutputForm): Gate | undefined {
    const { encoding, rendering, renderingVersion, includeObject, subresource } = output
    const form = [encoding, rendering, renderingVersion, includeObject, subresource].join(' ')
    const gates = this.#gates.get(resource) ?? new Map<string, Gate | undefined>()
    this.#gates.set(resource, gates)
    if (!gates.has(form)) gates.set(form, this.#makeGate(resource, output))
    return gates.get(form)
  }

  /** True if nothing is alike in a form. */
  areFormsApart(resource: Resource, output: OutputForm): boolean {
    return this.gateOf(resource, output) === nothingAlike
  }

  #makeGate(resource: Resource, output: OutputForm): Gate | undefined {
    const gate = this.#objectsGate(resource, output)
    if (gate === undefined || gate instanceof NotExact) return gate && nothingAlike
    return gate.areListsAlike ? gate : nothingAlike
  }

  /** True if all minors understand the read alike, and refuse it in the same words if they do. */
  areReadAlike(route: ResourceRoute, asked: AskedRead): boolean {
    const [first, ...others] = this.#options.schemas.map(schema =>
      outcomeOf({ ...route, schema }, asked),
    )
    if (first === undefined) return true
    const { plan } = first
    if (!others.every(({ text }) => text === first.text)) return false
    return plan === undefined || this.#areBookmarksAlike(plan)
  }

  #areBookmarksAlike({ plan, mediaType }: Planned): boolean {
    if (plan.type !== 'watch' || !plan.allowBookmarks) return true
    const { encoding, rendering, renderingVersion } = mediaType
    const shown = { encoding, rendering, renderingVersion, now: 0 }
    return (['None', 'Metadata', 'Object'] as const).every(includeObject => {
      const gate = this.#objectsGate(plan.resource, { ...shown, includeObject })
      return gate === undefined || (!(gate instanceof NotExact) && gate.areBookmarksAlike)
    })
  }

  #objectsGate(resource: Resource, output: OutputForm): MinorsGate | NotExact | undefined {
    const isMetadata = output.rendering.startsWith('PartialObjectMetadata')
    const part = isMetadata && output.subresource === undefined ? 'metadata' : 'objects'
    if (this.#differing(resource, part).length === 0) return undefined
    const encoders: ObjectEncoder[] = []
    for (const schema of this.#options.schemas) {
      const encoder = this.#options.encoderOf(resource, schema)
      if (encoder instanceof NotExact) return encoder
      encoders.push(encoder)
    }
    return new MinorsGate({ name: this.#name, resource, encoders, form: output })
  }

  #differing(resource: Resource, part: Part): readonly string[] {
    // The servers pass reads of what another server has.
    if (resource.learned !== undefined) return []
    const known = this.#known.get(resource) ?? new Map<Part, readonly string[]>()
    this.#known.set(resource, known)
    const found = known.get(part) ?? differingRows(this.#options.schemas, resource, part)
    known.set(part, found)
    return found
  }
}

/** Outcome of a read for the schema of its route, to be compared with its outcome for another. */
interface Outcome {
  /** Equal for reads that are answered alike, if objects are. */
  readonly text: string
  readonly plan: Planned | undefined
}

function outcomeOf(route: ResourceRoute, asked: AskedRead): Outcome {
  try {
    const plan = planAsked(route, asked, negotiate(asked.preference, asked.offer))
    return { text: JSON.stringify({ ...plan.plan, resource: undefined }), plan }
  } catch (error) {
    if (!(error instanceof CacheError)) throw error
    return { text: statusJson(statusFromError(error)), plan: undefined }
  }
}
