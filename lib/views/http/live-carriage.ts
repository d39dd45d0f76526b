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

/** The pieces of a document as they are sent, most often one: each write is a record of TLS and a
 *  call of the system. Empty ones stay pauses. */
export function* carriedPieces(pieces: ViewPieces, carriage: LiveCarriage): ViewPieces {
  const carry = carriage === 'messages' ? fragments() : framed(carriage)
  let held: Uint8Array | undefined
  for (let next = pieces.next(); ; next = pieces.next()) {
    if (next.done === true) {
      if (next.value !== undefined) return next.value
      yield carry(held ?? nothing, true)
      return undefined
    }
    const piece = next.value
    if (piece.length === 0) yield piece
    else {
      // It is held back until it is known whether it is the last one.
      if (held !== undefined) yield carry(held, false)
      held = piece
    }
  }
}

/** Makes of a piece of a document what is sent. */
type Carry = (piece: Uint8Array, isLast: boolean) => Uint8Array

const nothing = new Uint8Array()

/** A line, or an event of one line. */
function framed(carriage: 'lines' | 'events'): Carry {
  const end = carriage === 'events' ? emptyLine : lineFeed
  let isFirst = carriage === 'events'
  return (piece, isLast) => {
    const parts = isFirst ? [dataField, piece] : [piece]
    isFirst = false
    if (isLast) parts.push(end)
    return parts.length === 1 ? piece : Buffer.concat(parts)
  }
}

/** A message in fragments (RFC 6455, 5.4). */
function fragments(): Carry {
  let opcode: number = opcodes.text
  return (piece, isLast) => {
    const sent = isLast ? message(opcode, piece) : fragment(opcode, piece)
    opcode = opcodes.continuation
    return sent
  }
}

/** A part of a message that is not its last. */
function fragment(opcode: number, payload: Uint8Array): Uint8Array {
  const head = messageHead(opcode, payload.length)
  head[0] = opcode
  return Buffer.concat([head, payload])
}
