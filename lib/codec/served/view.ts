/** The served form of a stored protobuf value: the plain conversion with its resourceVersion, the
 *  defaults that the API server applies on every read, its fixups, and the served version's name
 *  where only the name differs. */

import { type ByteWriter, NotExact, type Steps } from '@watchglass/base'
import { readEnvelope } from '../transcode/envelope.ts'
import { type Kind, type Schema, perSchema } from '../schema/schema.ts'
import type { StoredValue } from '../stored-value.ts'
import { Decoders, type Variant } from '../transcode/decode/decoders.ts'
import { appendObject } from '../transcode/decode/objects.ts'
import type { WriteValue } from '../transcode/decode/state.ts'
import { objectScope, viewAdditions } from './view/additions.ts'

export interface ViewOptions {
  /** Schema of the server that is answered for. */
  readonly schema: Schema
  /** Becomes `metadata.resourceVersion`; digits. */
  readonly resourceVersion: string
  /** The served apiVersion; the stored one when it is left out. */
  readonly apiVersion?: string | undefined
  /** Items of a list of a built-in kind carry neither kind nor apiVersion. */
  readonly isItem?: boolean | undefined
}

/** Appends the JSON object that the API serves, without a newline behind it. When that cannot be
 *  done exactly, nothing is appended, and the reason is returned. */
export function appendView(
  out: ByteWriter,
  value: StoredValue,
  options: ViewOptions,
): NotExact | undefined {
  const stored = storedKind(value, options)
  if (stored instanceof NotExact) return stored
  const { apiVersion, view } = stored
  const { kind } = view
  view.write ??= decodersOf(options.schema).writerOf(kind.type, variantOf(kind))
  return appendObject(
    out,
    { bytes: value.bytes, start: stored.rawStart, end: stored.rawEnd, type: kind.type },
    {
      write: view.write,
      header: options.isItem === true ? '' : `,"kind":"${kind.kind}","apiVersion":"${apiVersion}"`,
      trailer: '}',
      resourceVersion: options.resourceVersion,
    },
  )
}

/** Compiles what views of a kind need, a step of some tenths of a millisecond at a time. Kinds that
 *  we have no schema of need nothing. */
export function* prepareView(schema: Schema, apiVersion: string, kind: string): Steps<undefined> {
  const view = viewOf(schema, apiVersion, kind)
  if (view instanceof NotExact) return undefined
  return yield* decodersOf(schema).prepare(view.kind.type, variantOf(view.kind))
}

function variantOf({ apiVersion, kind }: Kind): Variant {
  return { output: 'members', scope: objectScope(`${apiVersion} ${kind}`) }
}

/** The kind of a stored value, and the window of its message. */
export interface EnvelopedKind {
  readonly kind: Kind
  /** The version that it is served as. */
  readonly apiVersion: string
  readonly rawStart: number
  readonly rawEnd: number
}

/** Reads what a stored value is, and whether it can be served as the version that is asked for. */
export function storedKind(
  { bytes, start, end }: StoredValue,
  { schema, apiVersion: servedVersion }: Pick<ViewOptions, 'schema' | 'apiVersion'>,
): (EnvelopedKind & { readonly view: View }) | NotExact {
  const envelope = readEnvelope(bytes, start, end)
  if (envelope instanceof NotExact) return envelope
  const view = viewOf(schema, envelope.apiVersion, envelope.kind)
  if (view instanceof NotExact) return view
  const { kind } = view
  const apiVersion = servedVersion ?? kind.apiVersion
  if (apiVersion !== kind.apiVersion && !otherVersionsOf(view).has(apiVersion)) {
    return new NotExact(`${kind.kind} is stored as ${kind.apiVersion}`)
  }
  return { kind, apiVersion, rawStart: envelope.rawStart, rawEnd: envelope.rawEnd, view }
}

const decodersOf = perSchema(schema => new Decoders(viewAdditions(schema)))

/** The view of a stored kind. */
interface View {
  readonly kind: Kind
  /** Versions that it can be served as under another name, once somebody has asked. */
  otherVersions: ReadonlySet<string> | undefined
  write: WriteValue | undefined
}

const viewsOf = perSchema(() => new Map<string, View>())

/** The last view: lists are of one kind. */
let lastView: View | undefined

function viewOf(schema: Schema, apiVersion: string, name: string): View | NotExact {
  if (lastView?.kind.kind === name && lastView.kind.apiVersion === apiVersion) {
    if (lastView.kind.type.schema === schema) return lastView
  }
  const views = viewsOf(schema)
  const key = `${apiVersion} ${name}`
  let view = views.get(key)
  if (view === undefined) {
    const kind = schema.findKind(apiVersion, name)
    if (kind === undefined) return new NotExact('no schema of the kind in the envelope')
    const isObject = kind.type.fields.some(({ type }) => type === 'meta/v1.ObjectMeta')
    if (!isObject || !kind.type.hasTypeMeta) return new NotExact(`${name} is not an object`)
    view = { kind, otherVersions: undefined, write: undefined }
    views.set(key, view)
  }
  lastView = view
  return view
}

function otherVersionsOf(view: View): ReadonlySet<string> {
  view.otherVersions ??= relabelledVersions(view.kind)
  return view.otherVersions
}

/** The versions whose objects have the same shape and field numbers as the stored ones. */
function relabelledVersions({ apiVersion, kind: name, type }: Kind): Set<string> {
  const versions = new Set<string>()
  for (const { group, version, kind, storage } of type.schema.resources) {
    if (storage === null || storage.conversion !== 'relabel') continue
    const stored = versionOf(storage.group, storage.version)
    if (kind === name && stored === apiVersion) versions.add(versionOf(group, version))
  }
  return versions
}

function versionOf(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`
}
