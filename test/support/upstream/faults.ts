/** Faults of an API server, on demand. */

import type * as http from 'node:http'
import type { DirectAnswer } from './answers.ts'

export type Fault =
  /** Never answers. */
  | { readonly type: 'hang'; readonly onClose?: () => void }
  /** Ends the connection before an answer. */
  | { readonly type: 'reset' }
  /** Ends the connection in the middle of a body that says how long it is. */
  | { readonly type: 'reset mid-body'; readonly bytes: number }
  /** The beginning of a body, and then nothing. */
  | { readonly type: 'stall mid-body'; readonly bytes: number }
  /** Something else than the truth, such as a redirect. */
  | { readonly type: 'answer'; readonly answer: DirectAnswer }
  /** Bytes that are no HTTP. */
  | { readonly type: 'garbage' }
  /** These bytes, and the end of the connection. */
  | { readonly type: 'raw'; readonly bytes: string }
  /** The truth, after so long. */
  | { readonly type: 'call'; readonly task: () => void }

/** Does what the fault says; `over` if that was the answer. */
export function applyFault(
  fault: Fault,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): 'over' | 'goes on' {
  switch (fault.type) {
    case 'hang':
      request.socket.once('close', () => fault.onClose?.())
      return 'over'
    case 'reset':
      request.socket.destroy()
      return 'over'
    case 'reset mid-body':
    case 'stall mid-body':
      response.writeHead(200, { 'content-length': String(fault.bytes * 2) })
      response.write(Buffer.alloc(fault.bytes, 'x'), () => {
        if (fault.type === 'reset mid-body') request.socket.destroy()
      })
      return 'over'
    case 'answer': {
      const { code, headers, body } = fault.answer
      response.writeHead(code, { 'content-length': Buffer.byteLength(body), ...headers })
      response.end(body)
      return 'over'
    }
    case 'garbage':
      request.socket.end('SPQR/7 what?\r\n\r\n')
      return 'over'
    case 'raw':
      request.socket.end(fault.bytes, 'latin1')
      return 'over'
    case 'call':
      fault.task()
      return 'goes on'
  }
}
