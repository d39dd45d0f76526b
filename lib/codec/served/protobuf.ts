/** The served form of a stored protobuf value, as protobuf: the stored bytes with the
 *  resourceVersion put in, the few fields that the server fills in on read, and the served
 *  version's name. Nothing is decoded, as raw JSON inside an object, and empty bytes, do not
 *  survive that (FORMAT.md, section 3). Whether the server would change anything else is checked
 *  first. */

import {
  appendVarint,
  assert,
  ByteWriter,
  giveUp,
  GiveUp,
  NotExact,
  wireBytes,
  WireReader,
} from '@watchglass/base'
import { appendEnvelope } from '../transcode/envelope.ts'
import { type MessageField, type Kind, type MessageType, perSchema } from '../schema/schema.ts'
import { DecodeState } from '../transcode/decode/state.ts'
import { isCanonical } from './stored/canonical.ts'
import { objectScope } from './view/additions.ts'
import { fieldNumberOf } from './view/check-functions.ts'
import { type CheckMessage, checkerOf } from './view/checkers.ts'
import { type ViewOptions, storedKind } from './view.ts'
import { type StoredValue } from '../stored-value.ts'

/** Appends the protobuf object that the API serves: in its envelope, or the bare message for an
 *  item of a list. When that cannot be done exactly, nothing is appended, and the reason is
 *  returned. */
export function appendProtobufView(
  out: ByteWriter,
  value: StoredValue,
  options: ViewOptions,
): NotExact | undefined {
  const stored = storedKind(value, options)
  if (stored instanceof NotExact) return stored
  const { kind, rawStart, rawEnd } = stored
  const plan = planOf(kind)
  if (plan instanceof NotExact) return plan
  try {
    if (!isCanonical(kind.type, value.bytes, rawStart, rawEnd)) {
      return new NotExact(`${kind.kind} is stored with other fields than this server writes`)
    }
    state.setInput(value.bytes)
    state.depth = 0
    state.labelsStart = -1
    plan.check?.(state, rawStart, rawEnd)
    assert(state.depth === 0, 'every message that was entered was left')
    body.clear()
    writeObject(plan, { start: rawStart, end: rawEnd }, options.resourceVersion)
  } catch (error) {
    if (!(error instanceof GiveUp)) throw error
    return new NotExact(error.reason)
  }
  if (options.isItem === true) out.append(body.bytes, 0, body.length)
  else appendEnvelope(out, { apiVersion: stored.apiVersion, kind: kind.kind }, body)
  return undefined
}

/** The additions to objects of one kind. */
interface Plan {
  readonly check: CheckMessage | undefined
  readonly metadata: number
  /** The text that takes the place of an empty field of the status. */
  readonly phase:
    | { readonly status: number; readonly field: number; readonly text: string }
    | undefined
}

/** Bytes that take the place of others. */
interface Edit {
  readonly start: number
  readonly end: number
  readonly bytes: Uint8Array
  readonly from: number
  readonly to: number
}

interface Window {
  readonly start: number
  readonly end: number
}

const plansOf = perSchema(() => new Map<string, Plan | NotExact>())
const state = new DecodeState(0)
const body = new ByteWriter()
const reader = new WireReader()

function planOf({ apiVersion, kind, type }: Kind): Plan | NotExact {
  const plans = plansOf(type.schema)
  const root = `${apiVersion} ${kind}`
  let plan = plans.get(root)
  if (plan === undefined) {
    const metadata = type.fields.find(field => field.type === 'meta/v1.ObjectMeta')
    const phase = phaseOf(type)
    plan =
      metadata === undefined
        ? new NotExact(`${kind} is not an object`)
        : {
            check: checkerOf(type, objectScope(root), phase.handled),
            metadata: metadata.number,
            phase: phase.plan,
          }
    plans.set(root, plan)
  }
  return plan
}

/** The one kind of default that a kube-apiserver leaves to reading: a phase of the status. */
function phaseOf(type: MessageType): { handled: Set<string>; plan: Plan['phase'] } {
  const handled = new Set<string>()
  let plan: Plan['phase']
  for (const { type: name, field: fieldName, whenEmpty } of type.schema.readFixups) {
    const status = type.fields.find(field => field.type === name && !field.isPointer)
    if (status === undefined || whenEmpty === undefined) continue
    const field = type.schema
      .messageType(name)
      .fields.find(({ jsonName }) => jsonName === fieldName)
    if (field === undefined || !isText(field)) continue
    handled.add(`${name}.${fieldName}`)
    plan = { status: status.number, field: field.number, text: whenEmpty }
  }
  return { handled, plan }
}

function isText(field: MessageField): boolean {
  return field.type === 'string' && field.container === 'single'
}

/** Writes the object, which is canonical, into `body`, field by field of the outermost message,
 *  with edits inside its metadata and its status. */
function writeObject(plan: Plan, raw: Window, resourceVersion: string): void {
  const metadata = onlyField(raw, plan.metadata)
  const edited = [
    { field: metadata, number: plan.metadata, edits: metadataEdits(metadata, resourceVersion) },
  ]
  if (plan.phase !== undefined) {
    const { status, field, text } = plan.phase
    const window = onlyField(raw, status)
    const edits = textEdits(window, field, text, true)
    if (edits.length > 0) edited.push({ field: window, number: status, edits })
  }
  let at = raw.start
  for (const { field, number, edits } of edited) {
    const grown = edits.reduce(
      (sum, edit) => sum + edit.to - edit.from - (edit.end - edit.start),
      0,
    )
    body.append(state.input, at, field.tagStart)
    appendVarint(body, number * 8 + wireBytes)
    appendVarint(body, field.end - field.start + grown)
    appendEdited(field, edits)
    at = field.end
  }
  body.append(state.input, at, raw.end)
}

/** The resourceVersion, and for a job without labels those of its template. */
function metadataEdits(metadata: Window, resourceVersion: string): Edit[] {
  const edits = textEdits(
    metadata,
    fieldNumberOf('meta/v1.ObjectMeta', 'resourceVersion'),
    resourceVersion,
    false,
  )
  if (state.labelsStart === -1) return edits
  const labels = fieldNumberOf('meta/v1.ObjectMeta', 'labels')
  const entries = fieldsOf({ start: state.labelsStart, end: state.labelsEnd }, labels)
  const own = fieldsOf(metadata, labels)
  const [first, last] = [entries[0], entries.at(-1)]
  if (own.length > 0 || first === undefined || last === undefined) return edits
  const isRun = entries.every((entry, i) => i === 0 || entry.tagStart === entries[i - 1]?.end)
  if (!isRun) giveUp('labels are not one after the other')
  const at = placeOf(metadata, labels).tagStart
  edits.push({ start: at, end: at, bytes: state.input, from: first.tagStart, to: last.end })
  return edits
}

/** The edit that gives a text field a value; none if it has one already and only empty ones are
 *  filled. */
function textEdits(message: Window, number: number, text: string, onlyEmpty: boolean): Edit[] {
  const { tagStart, start, end } = placeOf(message, number)
  if (onlyEmpty && end > start) return []
  const bytes = textField(number, text)
  return [{ start: tagStart, end, bytes, from: 0, to: bytes.length }]
}

function appendEdited({ start, end }: Window, edits: readonly Edit[]): void {
  let at = start
  for (const edit of edits) {
    assert(edit.start >= at, 'edits are in order, and do not overlap')
    body.append(state.input, at, edit.start)
    body.append(edit.bytes, edit.from, edit.to)
    at = edit.end
  }
  body.append(state.input, at, end)
}

interface FoundField extends Window {
  readonly tagStart: number
}

function onlyField(message: Window, number: number): FoundField {
  const field = placeOf(message, number)
  return field.end > field.tagStart ? field : giveUp(`field ${number} is not there`)
}

/** A length-delimited field that holds one value, or the place where Go would write it. */
function placeOf(message: Window, number: number): FoundField {
  reader.reset(state.input, message.start, message.end)
  let tagStart = reader.at
  for (; reader.nextField() && reader.field <= number; tagStart = reader.at) {
    const isWanted = reader.field === number && reader.wire === wireBytes
    if (reader.skip() && isWanted) return { tagStart, start: reader.start, end: reader.at }
  }
  if (reader.isMalformed) giveUp('a message is malformed')
  return { tagStart, start: tagStart, end: tagStart }
}

/** The occurrences of a length-delimited field. Gives up if the message is malformed. */
function fieldsOf(message: Window, number: number): FoundField[] {
  const found: FoundField[] = []
  reader.reset(state.input, message.start, message.end)
  for (let tagStart = reader.at; reader.nextField(); tagStart = reader.at) {
    const isWanted = reader.field === number && reader.wire === wireBytes
    if (reader.skip() && isWanted) found.push({ tagStart, start: reader.start, end: reader.at })
  }
  if (reader.isMalformed) giveUp('a message is malformed')
  return found
}

function textField(number: number, text: string): Uint8Array {
  const bytes = new Uint8Array(2 + text.length)
  if (number > 15 || text.length > 127) return giveUp('a text is too long')
  bytes[0] = number * 8 + wireBytes
  bytes[1] = text.length
  for (let i = 0; i < text.length; i++) bytes[2 + i] = text.charCodeAt(i)
  return bytes
}
