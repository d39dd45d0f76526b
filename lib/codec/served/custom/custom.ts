/** The served form of a stored custom resource, which is JSON. */

import {
  appendText,
  type ByteWriter,
  equalBytes,
  noteEffort,
  NotExact,
  textFromBytes,
} from '@watchglass/base'
import { VerifiedLayouts } from '../../json/verified-layouts.ts'
import { JsonVerifier, type VerifyOptions } from '../../json/verify.ts'
import { appendSpliced } from '../../json/splice.ts'
import { type JsonObject, parseTree, textFromTree, treeBytesPerEffort } from '@watchglass/go'
import { NeedsConversion } from './converted-objects.ts'
import { applyDefaults, coerceEmbedded, dropNulls, prune } from '../structural/apply.ts'
import { rootMetadataNode } from '../structural/object-meta-node.ts'
import { normaliseObjectMeta } from '../structural/object-meta.ts'
import { type StructuralNode, compileRoot, verifyNodeOf } from '../structural/schema.ts'
import type { StoredValue } from '../../stored-value.ts'

/** The part of a CustomResourceDefinition that decides how its objects are read. */
export interface CustomDefinitionParts {
  readonly group: string
  readonly kind: string
  /** All versions, served or not: any may be stored. */
  readonly versions: readonly CustomVersionParts[]
  /** spec.preserveUnknownFields: no schema is applied. */
  readonly preservesUnknownFields: boolean
  readonly conversion: 'none' | 'webhook'
  /** The objects that its webhook has made; undefined where none is called. */
  readonly converted?: ConvertedBy | undefined
}

/** Finds what a webhook has made of a stored object. */
export type ConvertedBy = (stored: StoredValue, apiVersion: string) => StoredValue | undefined

export interface CustomVersionParts {
  readonly name: string
  /** The openAPIV3Schema, as JSON.parse gives it; undefined is none. */
  readonly schema: unknown
}

/** The version that is asked for. */
export interface CustomViewOptions {
  /** The served version: `v1`. */
  readonly version: string
  /** Becomes `metadata.resourceVersion`; digits. */
  readonly resourceVersion: string
  /** The part that is used of the object, where that is not all: metadata gets no defaults, so it
   *  is shown of objects that have too many, too. */
  readonly part?: 'metadata' | undefined
}

/** The reader of one CustomResourceDefinition's objects. */
export class CustomKind {
  readonly #parts: CustomDefinitionParts
  /** As it stands in JSON. */
  readonly #quotedKind: Uint8Array
  /** By apiVersion. */
  readonly #versions = new Map<string, Version>()
  readonly #verifier = new JsonVerifier()
  /** The version that the last object was stored as; the next one nearly always is, too. */
  #likely: Version | undefined
  #lastServed: Version | undefined

  constructor(parts: CustomDefinitionParts) {
    this.#parts = parts
    this.#quotedKind = Buffer.from(`"${parts.kind}"`)
    for (const { name, schema } of parts.versions) {
      const apiVersion = `${parts.group}/${name}`
      const hasSchema = schema !== undefined && schema !== null && !parts.preservesUnknownFields
      const root = hasSchema ? compileRoot(schema) : undefined
      const bare = hasSchema ? compileRoot(schema, { hasDefaults: false }) : undefined
      this.#versions.set(apiVersion, {
        name,
        apiVersion,
        quotedApiVersion: Buffer.from(`"${apiVersion}"`),
        root,
        verify: verifyRules(root),
        verifyRelabelled: verifyRules(bare),
      })
      this.#likely ??= this.#versions.get(apiVersion)
    }
  }

  /** Appends the JSON object that the API serves, without a newline. When that cannot be done
   *  exactly, nothing is appended, and the reason is returned. */
  append(out: ByteWriter, value: StoredValue, options: CustomViewOptions): NotExact | undefined {
    const served = this.#served(options.version)
    if (served === undefined) return new NotExact(`no version ${options.version} is defined`)
    const { resourceVersion, part } = options
    const isMade = this.#converted(value, served) !== undefined
    if (resourceVersion !== '' && !isMade && this.#isUnchanged(value, served)) {
      const apiVersion = this.#likely === served ? undefined : served.apiVersion
      appendSpliced(out, this.#verifier, { resourceVersion, apiVersion })
      return undefined
    }
    const tree = this.#readTree(value, served, part)
    if (tree instanceof NotExact) return tree
    const metadata = tree.get('metadata') as JsonObject
    if (resourceVersion === '') metadata.delete('resourceVersion')
    else metadata.set('resourceVersion', resourceVersion)
    const text = textFromTree(tree)
    noteEffort(text.length / treeBytesPerEffort)
    appendText(out, text)
    return undefined
  }

  /** The object that the API serves as a tree, without its resourceVersion. */
  tree(value: StoredValue, version: string): JsonObject | NotExact {
    const served = this.#served(version)
    if (served === undefined) return new NotExact(`no version ${version} is defined`)
    return this.#readTree(value, served)
  }

  /** The object that a webhook has made of a stored one for a version; undefined if there is
   *  none. */
  converted(value: StoredValue, version: string): StoredValue | undefined {
    const served = this.#served(version)
    return served && this.#converted(value, served)
  }

  #converted(value: StoredValue, { apiVersion }: Version): StoredValue | undefined {
    return this.#parts.converted?.(value, apiVersion)
  }

  /** True if we can make what `version` serves of an object that is stored as `apiVersion`. */
  canServe(apiVersion: string, version: string): boolean {
    const served = this.#served(version)
    if (served === undefined) return false
    return !(this.#storedVersion(apiVersion, this.#parts.kind, served) instanceof NotExact)
  }

  /** True if the value at `path` may be another one in the served object than in an object stored
   *  as `apiVersion`: it, or what it lies in, has a default or may be pruned. */
  mayChange(path: readonly string[], apiVersion: string, version: string): boolean {
    if (['apiVersion', 'kind', 'metadata'].includes(path[0] ?? '')) return false
    const stored = this.#versions.get(apiVersion)
    const served = this.#served(version)
    if (stored === undefined || served === undefined) return true
    return mayChangeBy(stored.root, path, true) || mayChangeBy(served.root, path, stored === served)
  }

  #served(version: string): Version | undefined {
    if (version !== this.#lastServed?.name) {
      this.#lastServed = this.#versions.get(`${this.#parts.group}/${version}`)
    }
    return this.#lastServed
  }

  /** True if the server would change nothing but resourceVersion and apiVersion. Then `#likely` is
   *  the stored version, and the verifier knows the places. */
  #isUnchanged(value: StoredValue, served: Version): boolean {
    const guess = this.#likely
    if (guess === undefined || !this.#verify(value, guess.verify)) return false
    const { apiVersionStart, apiVersionEnd, kindStart, kindEnd } = this.#verifier
    const { bytes } = value
    if (apiVersionStart < 0 || kindStart < 0) return false
    if (!equalBytes(bytes, kindStart, kindEnd, this.#quotedKind)) return false
    if (!equalBytes(bytes, apiVersionStart, apiVersionEnd, guess.quotedApiVersion)) {
      const apiVersion = textFromBytes(bytes, apiVersionStart + 1, apiVersionEnd - 1)
      const stored = this.#versions.get(apiVersion)
      if (stored === undefined) return false
      this.#likely = stored
      if (!this.#verify(value, stored.verify)) return false
    }
    if (this.#likely === served) return true
    return this.#parts.conversion === 'none' && this.#verify(value, served.verifyRelabelled)
  }

  #verify({ bytes, start, end }: StoredValue, { options, layouts }: VerifyRules): boolean {
    if (layouts.match(this.#verifier, bytes, start, end)) return true
    if (!this.#verifier.verify(bytes, start, end, options)) return false
    layouts.remember(this.#verifier)
    return true
  }

  /** The object as a tree, changed as the server changes it. */
  #readTree(value: StoredValue, served: Version, part?: 'metadata'): JsonObject | NotExact {
    const made = this.#converted(value, served)
    const { bytes, start, end } = made ?? value
    const tree = parseTree(bytes, start, end)
    if (!(tree instanceof Map)) return new NotExact('value is not a JSON object')
    const apiVersion = tree.get('apiVersion')
    const kind = tree.get('kind')
    if (typeof apiVersion !== 'string' || typeof kind !== 'string') {
      return new NotExact('value has no apiVersion or no kind')
    }
    if (!(tree.get('metadata') instanceof Map)) return new NotExact('value has no metadata')
    // It gets no defaults: that is for the webhook to do.
    if (made !== undefined) return decode(tree, served.root) ?? tree
    const stored = this.#storedVersion(apiVersion, kind, served)
    if (stored instanceof NotExact) return stored
    const problem = decode(tree, stored.root)
    if (problem !== undefined) return problem
    if (stored.root !== undefined && part === undefined) {
      const tooMany = withoutMeta(tree, stored.root, applyDefaults)
      if (tooMany !== undefined) return tooMany
    }
    tree.set('apiVersion', served.apiVersion)
    return decode(tree, served.root) ?? tree
  }

  /** The version that an object is stored as, if it can be served as the other one. */
  #storedVersion(apiVersion: string, kind: string, served: Version): Version | NotExact {
    if (kind !== this.#parts.kind) return new NotExact('value is of another kind')
    const stored = this.#versions.get(apiVersion)
    if (stored === undefined) return new NotExact('value is of a version that is not defined')
    this.#likely = stored
    if (stored !== served && this.#parts.conversion !== 'none') {
      return new NeedsConversion()
    }
    return stored
  }
}

interface Version {
  readonly name: string
  readonly apiVersion: string
  /** As it stands in JSON. */
  readonly quotedApiVersion: Uint8Array
  readonly root: StructuralNode | undefined
  readonly verify: VerifyRules
  /** For objects that are stored as another version: they get no defaults of this one. */
  readonly verifyRelabelled: VerifyRules
}

/** The verifier, and objects that it has verified, to which similar ones are compared. */
interface VerifyRules {
  readonly options: VerifyOptions
  readonly layouts: VerifiedLayouts
}

function verifyRules(root: StructuralNode | undefined): VerifyRules {
  const options: VerifyOptions = {
    order: 'sorted',
    root: root === undefined ? undefined : verifyNodeOf(root),
    metadata: rootMetadataNode,
  }
  return { options, layouts: new VerifiedLayouts() }
}

/** The steps that the server takes whenever it decodes or converts: pruning, dropping nulls,
 *  coercing. */
function decode(tree: JsonObject, root: StructuralNode | undefined): NotExact | undefined {
  if (root !== undefined) {
    withoutMeta(tree, root, prune)
    withoutMeta(tree, root, dropNulls)
    const problem = coerceEmbedded(tree, root)
    if (problem !== undefined) return problem
  }
  return normaliseObjectMeta(tree, { isRoot: true })
}

/** Applies a step to all but apiVersion, kind and metadata, which no schema changes. */
function withoutMeta<Result>(
  tree: JsonObject,
  root: StructuralNode,
  step: (tree: JsonObject, root: StructuralNode) => Result,
): Result {
  const meta = [...tree].filter(([key]) => ['apiVersion', 'kind', 'metadata'].includes(key))
  for (const [key] of meta) tree.delete(key)
  const result = step(tree, root)
  for (const [key, value] of meta) tree.set(key, value)
  return result
}

/** Follows a path through a schema. What no schema describes stays as it is only where that is
 *  preserved. */
function mayChangeBy(
  root: StructuralNode | undefined,
  path: readonly string[],
  hasDefaults: boolean,
): boolean {
  let node = root
  for (const key of path) {
    if (node === undefined) return false
    const child: StructuralNode | undefined = node.properties.get(key) ?? node.additional
    if (child === undefined) return !node.isPreserving
    if (hasDefaults && child.defaultValue !== null) return true
    node = child
  }
  return false
}
