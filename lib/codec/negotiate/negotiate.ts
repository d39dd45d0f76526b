/** Decides in which media type an answer goes out: encoding, rendering (as a Table, as metadata
 *  only) and indentation.
 *
 *  kube-apiserver decides in three places, and each refuses in its own words: the router of
 *  built-in resources looks at the bare names first; the handler then takes the first clause that
 *  it can honour with all its parameters; and an error is negotiated once more, without renderings.
 *  All three are here; the texts are the upstream's. */

import { trimSpaces } from '@watchglass/go'
import { type OutputKind, goTypeOf } from '../output-kind.ts'
import { acceptClauses, acceptMaxLength } from './accept.ts'

/** The encodings: layouts of bytes. */
export type Encoding = 'json' | 'yaml' | 'protobuf' | 'cbor'

/** The renderings of an object: all of it, or one that the Accept parameter `as` names. */
export type Rendering = 'object' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList'

/** The result of negotiation. */
export interface MediaType {
  readonly encoding: Encoding
  readonly rendering: Rendering
  /** The version of meta.k8s.io of the rendering; meaningless for `object`. */
  readonly renderingVersion: 'v1' | 'v1beta1'
  /** JSON, indented, without a line feed at the end. Watches ignore it. */
  readonly isPretty: boolean
  /** Objects are shown without their managed fields. */
  readonly drops?: true | undefined
}

/** The media types of an endpoint. */
export interface Offer {
  /** In order of preference, for clients without one. */
  readonly encodings: readonly Encoding[]
  /** Custom resources have no protobuf form, but their renderings do: the encodings in which whole
   *  objects may go out. */
  readonly objectEncodings: readonly Encoding[]
  /** Built-in resources are behind a router that refuses by name, before any handler. */
  readonly hasRouter: boolean
  /** Lists offer the names of the watch media types, too, when they refuse. */
  readonly isList: boolean
  /** True for what cannot be rendered as a Table. */
  readonly lacksTables?: boolean
  /** The parameter `drop` is obeyed (KEP-5958); it means nothing elsewhere. */
  readonly hasDrop?: boolean
}

/** The part of a request that decides about its media type. */
export interface Preference {
  /** The first Accept header, or nothing. */
  readonly accept: string | undefined
  /** The value of the query parameter `pretty`, or nothing. */
  readonly pretty: string | undefined
  /** The first User-Agent header, or nothing. */
  readonly userAgent: string | undefined
}

/** A 406: the message of its Status. */
export interface NotAcceptable {
  readonly refusal: string
  /** The router's Status has an empty `details` object. */
  readonly hasDetails: boolean
}

export const mediaTypeNames: Readonly<Record<Encoding, string>> = {
  json: 'application/json',
  yaml: 'application/yaml',
  protobuf: 'application/vnd.kubernetes.protobuf',
  cbor: 'application/cbor',
}

/** The encodings of built-in resources, unless CBOR is switched on. */
export const builtinEncodings: readonly Encoding[] = ['json', 'yaml', 'protobuf']

/** The media type of an answer to a get, a list, or a watch's errors before it starts. Clients send
 *  few Accept headers, so what has come of each is remembered with the offer. */
export function negotiate(preference: Preference, offer: Offer): MediaType | NotAcceptable {
  const { accept = '' } = preference
  let all = remembered.get(offer)
  if (all === undefined) {
    all = { plain: new Map(), pretty: new Map() }
    remembered.set(offer, all)
  }
  const known = isPrettyWanted(preference) ? all.pretty : all.plain
  const found = known.get(accept)
  if (found !== undefined) return found
  const made = negotiateAnew(preference, offer)
  if (accept.length <= rememberedMaxLength && known.size < rememberedMax) known.set(accept, made)
  return made
}

/** By the Accept header. */
type Remembered = Map<string, MediaType | NotAcceptable>

const remembered = new WeakMap<Offer, Readonly<Record<'plain' | 'pretty', Remembered>>>()
/** Clients make headers up, so there are bounds: a thousand short headers each are more than a
 *  cluster has. */
const rememberedMax = 1_000
const rememberedMaxLength = 256

function negotiateAnew(preference: Preference, offer: Offer): MediaType | NotAcceptable {
  return routerRefusal(preference, offer) ?? accepted(preference, offer, 'renderings')
}

/** As `negotiate`, for a document, which has no renderings. */
export function negotiateDocument(preference: Preference, offer: Offer): MediaType | NotAcceptable {
  return routerRefusal(preference, offer) ?? accepted(preference, offer, 'no renderings')
}

/** The router's refusal, before any handler is asked; undefined if it lets the request pass. */
export function routerRefusal(preference: Preference, offer: Offer): NotAcceptable | undefined {
  if (!offer.hasRouter) return undefined
  const known = offer.encodings.map(encoding => mediaTypeNames[encoding])
  const names = offer.isList ? [...plainNames(offer), ...streamNames(offer)] : plainNames(offer)
  return isRouted(preference.accept ?? '', known) ? undefined : refusalOf(names)
}

/** The refusal of an Accept header by a router, for something that can be had as these media
 *  types. */
export function routerRefusalOf(
  preference: Preference,
  names: readonly string[],
): NotAcceptable | undefined {
  return isRouted(preference.accept ?? '', names) ? undefined : refusalOf(names)
}

function refusalOf(names: readonly string[]): NotAcceptable {
  const refusal = `406: Not Acceptable\n\nAvailable representations: ${names.join(', ')}`
  return { refusal, hasDetails: true }
}

function accepted(preference: Preference, offer: Offer, mode: Mode): MediaType | NotAcceptable {
  return (
    firstAcceptable(preference, offer, mode) ?? {
      refusal: `only the following media types are accepted: ${plainNames(offer).join(', ')}`,
      hasDetails: false,
    }
  )
}

/** The negotiated media type of a watch: YAML cannot be a stream. */
export function streamed(mediaType: MediaType, offer: Offer): MediaType | NotAcceptable {
  if (mediaType.encoding === 'yaml') {
    const names = streamNames(offer).join(', ')
    return { refusal: `only the following media types are accepted: ${names}`, hasDetails: false }
  }
  return { ...mediaType, isPretty: false }
}

/** The media type of a Status that is an error. `undefined` when the client accepts none without a
 *  rendering: it then gets JSON, indented, without a line feed at the end, as `isPretty` would
 *  give. */
export function negotiateError(preference: Preference, offer: Offer): MediaType | undefined {
  return firstAcceptable(preference, offer, 'no renderings')
}

/** The Content-Type header of an answer. */
export function contentType(encoding: Encoding): string {
  return mediaTypeNames[encoding]
}

/** The Content-Type header of a watch. JSON has no name of its own. */
export function watchContentType(encoding: Encoding): string {
  if (encoding === 'cbor') return 'application/cbor-seq'
  return encoding === 'json' ? mediaTypeNames.json : `${mediaTypeNames[encoding]};stream=watch`
}

/** Whether to indent JSON: the query decides, and without it whether the client is one that people
 *  look at. */
export function isPrettyWanted({ pretty, userAgent }: Preference): boolean {
  if (pretty !== undefined && pretty !== '') return /^(1|t|T|TRUE|true|True)$/.test(pretty)
  return /^(curl|Wget|Mozilla\/5\.0)/.test(userAgent ?? '')
}

/** The router knows whole names and `*`+`/*` only, before the first `;` of each clause, in any
 *  order. */
function isRouted(accept: string, offered: readonly string[]): boolean {
  if (accept === '') return true
  if (accept.length > acceptMaxLength) return false
  const names = accept.split(',').map(clause => trimSpaces(clause.replace(/;.*$/s, '')))
  // What follows the last comma is looked at only if there is something.
  if (names.length > 1 && accept.endsWith(',')) names.pop()
  const known = new Set(['*/*', ...offered])
  return names.some(name => known.has(name))
}

/** An error is never rendered. */
type Mode = 'renderings' | 'no renderings'

function firstAcceptable(preference: Preference, offer: Offer, mode: Mode): MediaType | undefined {
  const isPretty = isPrettyWanted(preference)
  const plain = {
    rendering: 'object',
    renderingVersion: 'v1',
    isPretty,
  } as const
  const accept = preference.accept ?? ''
  const first = offer.encodings[0]
  if (accept === '' && first !== undefined) return { encoding: first, ...plain }
  for (const { type, subtype, parameters } of acceptClauses(accept)) {
    for (const encoding of offer.encodings) {
      const name = mediaTypeNames[encoding]
      const isNamed = `${type}/${subtype}` === name
      const isMatched = isNamed || (subtype === '*' && (type === 'application' || type === '*'))
      if (!isMatched) continue
      const chosen = honour(encoding, parameters, { offer, mode })
      if (chosen !== undefined) {
        return { ...plain, ...chosen, isPretty: isPretty || chosen.isPretty }
      }
    }
  }
  return undefined
}

/** Whether `encoding` can be produced with `parameters`, and what they ask for. */
function honour(
  encoding: Encoding,
  parameters: ReadonlyMap<string, string>,
  { offer, mode }: { offer: Offer; mode: Mode },
): (Omit<MediaType, 'encoding'> & { encoding: Encoding }) | undefined {
  const stream = parameters.get('stream') ?? ''
  if (stream !== '' && (stream !== 'watch' || encoding === 'yaml')) return undefined
  const version = parameters.get('sv') ?? ''
  if (version !== '' && (mode === 'no renderings' || version !== 'v1')) return undefined
  const drop = offer.hasDrop === true ? parameters.get('drop') : undefined
  // The only field there is. With any other, the next clause is tried.
  if (drop !== undefined && drop !== 'metadata.managedFields') return undefined
  const dropped = drop === undefined ? {} : ({ drops: true } as const)
  const isPretty = parameters.get('pretty') === '1'
  const rendering = renderingOf(parameters)
  if (rendering === undefined) {
    if (mode === 'renderings' && !offer.objectEncodings.includes(encoding)) return undefined
    return { encoding, rendering: 'object', renderingVersion: 'v1', isPretty, ...dropped }
  }
  if (mode === 'no renderings' || rendering === 'unknown') return undefined
  const isTable = rendering.rendering === 'Table'
  if (isTable && (encoding === 'protobuf' || offer.lacksTables === true)) return undefined
  return { encoding, ...rendering, isPretty, ...dropped }
}

/** `undefined` when no rendering is asked for at all. */
function renderingOf(
  parameters: ReadonlyMap<string, string>,
): Pick<MediaType, 'rendering' | 'renderingVersion'> | 'unknown' | undefined {
  const [kind, group, version] = ['as', 'g', 'v'].map(name => parameters.get(name))
  if (kind === undefined && group === undefined && version === undefined) return undefined
  if (group !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1')) return 'unknown'
  const rendering = renderings.find(name => name === kind)
  return rendering === undefined ? 'unknown' : { rendering, renderingVersion: version }
}

const renderings: readonly Rendering[] = [
  'Table',
  'PartialObjectMetadata',
  'PartialObjectMetadataList',
]

function plainNames(offer: Offer): string[] {
  return offer.encodings.map(encoding => mediaTypeNames[encoding])
}

function streamNames(offer: Offer): string[] {
  return offer.encodings
    .filter(encoding => encoding !== 'yaml')
    .map(encoding => `${mediaTypeNames[encoding]};stream=watch`)
}

/** Why a rendering does not go with what was asked for, in the upstream's words: a 406. */
export function renderingMismatch(
  kind: OutputKind,
  { rendering }: Pick<MediaType, 'rendering'>,
  isList: boolean,
): string | undefined {
  const wanted = isList ? 'PartialObjectMetadata' : 'PartialObjectMetadataList'
  if (rendering !== wanted) return undefined
  const goType = goTypeOf(kind, isList)
  if (!isList) return notAList(goType)
  return `you requested PartialObjectMetadata, but the requested object is a list (${goType})`
}

/** Why one object is no list of metadata: a 406. */
export function notAList(goType: string): string {
  return `you requested PartialObjectMetadataList, but the requested object is not a list (${goType})`
}
