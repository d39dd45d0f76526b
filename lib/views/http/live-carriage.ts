/** The three ways that the documents of a live page take: lines of a response, server-sent events,
 *  and messages of a WebSocket. */

import { message, messageHead, opcodes } from '@watchglass/cache'
import type { ViewPieces } from '../documents/view-document.ts'

export type LiveCarriage = 'lines' | 'events' | 'messages'

/** The media type of server-sent events, which `EventSource` of browsers asks for. */
export const eventsMediaType = 'text/event-stream'

const lineFeed = Buffer.from('\n')
const dataField = Buffer.from('data: ')
const emptyLine = Buffer.from('\n\n')

/** A short document as it is sent. It has no line break, as JSON has none outside of
 *  indentation. */
export function carriedDocument(text: string, carriage: LiveCarriage): Uint8Array {
  const json = Buffer.from(text)
  switch (carriage) {
    case 'lines':
      return Buffer.concat([json, lineFeed])
    case 'events':
      return Buffer.concat([dataField, json, emptyLine])
    case 'messages':
      return message(opcodes.text, json)
  }
}

/** The pieces of a document as they are sent. Empty ones stay pauses. */
export function* carriedPieces(pieces: ViewPieces, carriage: LiveCarriage): ViewPieces {
  if (carriage === 'messages') return yield* fragments(pieces)
  if (carriage === 'events') yield dataField
  const problem = yield* pieces
  if (problem !== undefined) return problem
  yield carriage === 'events' ? emptyLine : lineFeed
  return undefined
}

/** A message in fragments (RFC 6455, 5.4), each of which is held back until it is known whether it
 *  is the last one. */
function* fragments(pieces: ViewPieces): ViewPieces {
  let held: Uint8Array | undefined
  let opcode: number = opcodes.text
  for (let next = pieces.next(); ; next = pieces.next()) {
    if (next.done === true) {
      if (next.value !== undefined) return next.value
      yield message(opcode, held ?? new Uint8Array())
      return undefined
    }
    const piece = next.value
    if (piece.length === 0) yield piece
    else {
      if (held !== undefined) {
        yield fragment(opcode, held)
        opcode = opcodes.continuation
      }
      held = piece
    }
  }
}

/** A part of a message that is not its last. */
function fragment(opcode: number, payload: Uint8Array): Uint8Array {
  const head = messageHead(opcode, payload.length)
  head[0] = opcode
  return Buffer.concat([head, payload])
}
