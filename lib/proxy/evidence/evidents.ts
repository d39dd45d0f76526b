/** The evidence for each resource, and for each version of the servers that answer for it: its
 *  forms, and the state of the upstream for which they are valid. */

import type { Key } from '@watchglass/base'
import { keyspacesOf, type Resource } from '@watchglass/kube'
import type { Form } from './form.ts'
import { formName } from './form-names.ts'

/** Every resource that may be answered from the mirror if evidence allows it, with the state of the
 *  upstream by the version whose servers are to be asked. */
export type WantedVersions = ReadonlyMap<Resource, ReadonlyMap<string, string>>

export interface Evident {
  readonly resource: Resource
  /** Its servers are asked; empty for any. */
  readonly version: string
  readonly state: string
  readonly forms: Map<string, Form>
}

export interface EvidentsOptions {
  /** Makes the forms that are compared first. */
  readonly begin: (evident: Evident) => void
  /** Called with evidence that is not valid any more: open watches still hold its gates. */
  readonly drop: (evident: Evident) => void
}

export class Evidents {
  readonly #options: EvidentsOptions
  /** By resource, then by version. */
  #byName = new Map<string, ReadonlyMap<string, Evident>>()
  #byResource = new WeakMap<Resource, readonly Evident[]>()
  #byKeyspace = new Map<string, Evident[]>()

  constructor(options: EvidentsOptions) {
    this.#options = options
  }

  /** Adds what is wanted now, and drops the evidence of another state of the upstream. */
  take(wanted: WantedVersions): void {
    const before = this.#byName
    this.#byName = new Map()
    this.#byResource = new WeakMap()
    this.#byKeyspace = new Map()
    const kept = new Set<Evident>()
    for (const [resource, states] of wanted) {
      const known = before.get(nameOf(resource))
      const evidents = new Map<string, Evident>()
      for (const [version, state] of states) {
        const one = known?.get(version)
        const evident =
          one?.state === state ? one : { resource, version, state, forms: new Map<string, Form>() }
        evidents.set(version, evident)
        kept.add(evident)
      }
      this.#byName.set(nameOf(resource), evidents)
      this.#byResource.set(resource, [...evidents.values()])
      for (const keyspace of keyspacesOf(resource)) {
        const others = this.#byKeyspace.get(keyspace) ?? []
        this.#byKeyspace.set(keyspace, [...others, ...evidents.values()])
      }
    }
    for (const evidents of before.values()) {
      for (const evident of evidents.values()) if (!kept.has(evident)) this.#options.drop(evident)
    }
    for (const evident of kept) if (evident.forms.size === 0) this.#options.begin(evident)
  }

  /** Evidence of each version; none while there is no evidence at all. */
  of(resource: Resource): readonly Evident[] {
    const known = this.#byResource.get(resource)
    if (known !== undefined) return known
    const found = [...(this.#byName.get(nameOf(resource))?.values() ?? [])]
    if (found.length > 0) this.#byResource.set(resource, found)
    return found
  }

  in(keyspace: Key): readonly Evident[] {
    return this.#byKeyspace.get(keyspace) ?? []
  }

  all(): readonly Evident[] {
    return [...this.#byName.values()].flatMap(evidents => [...evidents.values()])
  }

  /** False for a form whose evidence was dropped. */
  has(form: Form): boolean {
    return this.of(form.resource).some(({ forms }) => forms.get(formName(form.output)) === form)
  }

  /** Forgets what was found to differ: another server may have answered than the one that was
   *  meant. */
  reopen(): void {
    for (const evident of this.all()) {
      const isClosed = [...evident.forms.values()].some(({ proven }) => proven.difference)
      if (!isClosed) continue
      this.#options.drop(evident)
      evident.forms.clear()
      this.#options.begin(evident)
    }
  }
}

function nameOf({ group, version, resource, custom }: Resource): string {
  return `${group}/${version}/${resource} ${custom?.definedAt ?? ''}`
}
