/** Requests for a WebSocket, as kube-apiserver reads them: golang.org/x/net/websocket does the
 *  handshake of a watch, and a bearer token may be one of the subprotocols, since browsers can set
 *  no header. */

/** Header lines by name; those of one name joined by commas. */
export type HandshakeHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** A handshake that is agreed to. */
export interface Handshake {
  /** The answer proves that it was read. */
  readonly key: string
  /** The subprotocol, which is echoed whatever it is; undefined if none is asked for. */
  readonly protocol: string | undefined
}

/** A handshake that is refused: the answer has no header but `version`. */
export interface HandshakeRefusal {
  readonly refusal: 400 | 403
  readonly text: string
  /** The only version that is spoken, where another one was asked for. */
  readonly version?: string
}

const tokenPrefix = 'base64url.bearer.authorization.k8s.io.'
const versionSpoken = '13'

/** An origin as Go's `url.ParseRequestURI` takes it: a path, or anything behind a scheme. */
const origin = /^(?:[a-z][a-z\d+.-]*:|\/)[\x21-\x7e]*$/i

/** Characters of a token that a header can carry. */
const tokenText = /^[\x21-\x7e]+$/

/** True if the request asks for a WebSocket on its connection. */
export function isWebSocket(headers: HandshakeHeaders): boolean {
  return textOf(headers, 'upgrade').toLowerCase() === 'websocket'
}

/** Reads the handshake of a watch. The order of the refusals is that of Go's package. */
export function readHandshake(headers: HandshakeHeaders): Handshake | HandshakeRefusal {
  const key = textOf(headers, 'sec-websocket-key')
  if (key === '') return { refusal: 400, text: 'mismatch challenge/response' }
  if (textOf(headers, 'sec-websocket-version') !== versionSpoken) {
    const text = 'missing or bad WebSocket Version'
    return { refusal: 400, text, version: versionSpoken }
  }
  if (!origin.test(textOf(headers, 'origin'))) return { refusal: 403, text: '' }
  const protocols = protocolsOf(headers).filter(name => !name.startsWith(tokenPrefix))
  // A server of Go's package has to choose one of several, and that of watches does not.
  if (protocols.length > 1) return { refusal: 400, text: '' }
  const [protocol = ''] = protocols
  return { key, protocol: protocol === '' ? undefined : protocol }
}

/** The bearer token among the subprotocols; undefined if there is none. Where kube-apiserver takes
 *  the subprotocols for malformed credentials, their own text is the token, which is nobody's. */
export function protocolToken(headers: HandshakeHeaders): string | undefined {
  if (!isWebSocket(headers)) return undefined
  const protocols = protocolsOf(headers)
  const tokens = protocols.filter(name => name.startsWith(tokenPrefix))
  const [only = ''] = tokens
  const encoded = only.slice(tokenPrefix.length)
  if (tokens.length === 0 || (tokens.length === 1 && encoded === '')) return undefined
  const token = decoded(encoded)
  const isWhole = tokens.length === 1 && tokens.length < protocols.length
  return isWhole && token !== undefined ? token : tokens.join().replace(/[^\x21-\x7e]/g, '')
}

function decoded(encoded: string): string | undefined {
  if (!/^[\w-]+$/.test(encoded) || encoded.length % 4 === 1) return undefined
  const text = Buffer.from(encoded, 'base64url').toString('latin1')
  return tokenText.test(text) ? text : undefined
}

function protocolsOf(headers: HandshakeHeaders): readonly string[] {
  const text = textOf(headers, 'sec-websocket-protocol')
  return text === '' ? [] : text.split(',').map(name => name.trim())
}

function textOf(headers: HandshakeHeaders, name: string): string {
  const value = headers[name] ?? ''
  return (typeof value === 'string' ? value : value.join()).trim()
}
