/** The answering minor versions, which follow from the upstream's servers: as which minor version
 *  objects are written here, and what several minors answer differently. */

import { type Gate, minors, type OutputForm, schemaOf } from '@watchglass/codec'
import { MixedMinors } from './minors/mixed-minors.ts'
import type { Resource } from '@watchglass/kube'
import type { LiveRegistry } from '@watchglass/cache'
import type { Evidence } from './evidence/evidence.ts'
import type { UpstreamKnowledge } from './knowledge/knowledge.ts'
import type { ServerVersion } from './knowledge/server-versions.ts'

export interface AnsweringVersionsOptions {
  readonly registry: Pick<LiveRegistry, 'state' | 'setSchema'>
  readonly knowledge: () => UpstreamKnowledge
  readonly evidence: () => Evidence
  /** Called when objects may be shown in another way than before. */
  readonly onChange: () => void
}

export class AnsweringVersions {
  readonly #options: AnsweringVersionsOptions
  #versions = ''
  #mixed: MixedMinors | undefined = undefined

  constructor(options: AnsweringVersionsOptions) {
    this.#options = options
  }

  /** Undefined while all servers are of one minor. */
  get mixed(): MixedMinors | undefined {
    return this.#mixed
  }

  /** The gate of objects that all minors show alike; undefined while all objects are. */
  alikeGateOf(resource: Resource, form: OutputForm): Gate | undefined {
    return this.#mixed?.gateOf(resource, form)
  }

  /** The gate that objects in a form must pass, or why there is none. */
  gateOf(resource: Resource, form: OutputForm): ReturnType<Evidence['gateOf']> | 'versions-differ' {
    const isApart = this.#mixed?.areFormsApart(resource, form) === true
    return isApart ? 'versions-differ' : this.#options.evidence().gateOf(resource, form)
  }

  /** Differences between minors in a resource: what they know or write differently. */
  differences(resource: Resource): readonly string[] {
    return this.#mixed?.differences(resource) ?? []
  }

  /** Objects are written as the oldest version writes them; but that changes only when it must,
   *  because all watches end then. */
  take(versions: readonly ServerVersion[]): void {
    const { registry, knowledge, evidence, onChange } = this.#options
    const { isVersionCovered } = knowledge()
    const known = new Set(minors())
    const answering = new Set(versions.map(({ minor }) => `1.${minor}`))
    const schemas = [...answering].filter(minor => known.has(minor)).map(schemaOf)
    const [oldest] = schemas
    if (oldest !== undefined && !schemas.includes(registry.state.registry.schema)) {
      if (this.#mixed !== undefined) knowledge().rewritten(this.#mixed)
      registry.setSchema(oldest)
    }
    const text = JSON.stringify([versions, isVersionCovered])
    if (text === this.#versions) {
      evidence().look()
      return
    }
    this.#versions = text
    this.#mixed =
      schemas.length > 1 && isVersionCovered
        ? new MixedMinors({
            schemas,
            encoderOf: (resource, schema) => registry.state.encoderAs(resource, schema),
          })
        : undefined
    evidence().versionsChanged()
    onChange()
  }
}
