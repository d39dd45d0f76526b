/** The options of the listener of clients. */

import type { OptionCondition, DefaultedOption, Option } from './option.ts'
import { all, given, is } from './rules.ts'

/** An address to listen at. */
export interface ListenAddress {
  readonly protocol: 'http' | 'https'
  readonly host: string
  readonly port: number
}

/** Clients come by TLS. */
export const isHttps: OptionCondition = {
  text: '--listen https://...',
  holds: values => values.text('listen')?.startsWith('https:') === true,
}

/** `127.0.0.1:8001`, `[::1]:8001`, `:8001`. */
const shortened = /^(?!https?:)(?:\[[0-9a-fA-F:.]+\]|[^:/[\]]*):\d{1,5}$/

/** The address that an option names, also as HOST:PORT or :PORT; undefined if it is none. */
export function addressIn(text: string): ListenAddress | undefined {
  const full = shortened.test(text) ? `http://${text}` : text
  const match = /^(https?):\/\/(\[[0-9a-fA-F:.]+\]|[^:/[\]]*)(?::(\d{1,5}))?\/?$/.exec(full)
  const [, protocol, bracketed = '', digits] = match ?? []
  const port = Number(digits ?? (protocol === 'https' ? 443 : 80))
  if (match === null || port > 65_535) return undefined
  if (bracketed === '' && !shortened.test(text)) return undefined
  // Who names no host is served on this machine: other listeners have to be asked for.
  const host = bracketed.replace(/^\[|\]$/g, '') || '127.0.0.1'
  return { protocol: protocol === 'https' ? 'https' : 'http', host, port }
}

export const listenOption: DefaultedOption<ListenAddress> = {
  name: 'listen',
  value: 'URL',
  fallback: 'http://127.0.0.1:8001',
  help: 'The address to serve on: http or https, both with HTTP/1.1 and HTTP/2. HOST:PORT is http, :PORT is at 127.0.0.1. Port 0 picks a free port; none serves only --etcd-listen.',
  parse: addressIn,
  wrong: 'is not an address such as http://127.0.0.1:8001',
  needs: [
    { of: is('listen', 'none'), that: given('etcd-listen') },
    { of: isHttps, that: all(given('tls-cert'), given('tls-key')) },
  ],
}

/** The options that only a listener with TLS has. */
export const tlsOptions: readonly Option[] = [
  {
    name: 'tls-cert',
    value: 'FILE',
    help: 'The server certificate (PEM) for an https listener. Read again when it changes. Needs --tls-key.',
    needs: [{ that: isHttps }],
  },
  {
    name: 'tls-key',
    value: 'FILE',
    help: 'The key (PEM) of --tls-cert.',
    needs: [{ that: isHttps }],
  },
  {
    name: 'client-ca',
    value: 'FILE',
    help: 'Certificate authorities (PEM) for client certificates. Clients are then asked for a certificate.',
    needs: [{ that: isHttps }],
  },
]

function secondsFrom(min: number, max: number): (text: string) => number | undefined {
  return text => {
    const seconds = /^\d{1,4}$/.test(text) ? Number(text) : NaN
    return seconds >= min && seconds <= max ? seconds : undefined
  }
}

export const bookmarkIntervalOption: DefaultedOption<number> = {
  name: 'bookmark-interval',
  value: 'SECONDS',
  fallback: '60',
  help: 'The longest time between the bookmarks of a watch that asked for them, from 15 to 300. Load balancers that read HTTP cut a watch on which nothing comes for longer than they wait: choose less.',
  parse: secondsFrom(15, 300),
  wrong: 'is not a number of seconds from 15 to 300',
}

export const pingIntervalOption: DefaultedOption<number> = {
  name: 'http2-ping-interval',
  value: 'SECONDS',
  fallback: '30',
  help: 'A client over HTTP/2 that waits for an answer, such as a watch, and sends nothing for so long is pinged, so that load balancers that pass bytes on do not take its connection for idle; 0: none is.',
  parse: secondsFrom(0, 3600),
  wrong: 'is not a number of seconds from 0 to 3600',
}

export const pingTimeoutOption: DefaultedOption<number> = {
  name: 'http2-ping-timeout',
  value: 'SECONDS',
  fallback: '60',
  help: 'How long a client may take to answer a ping. Its connection is then closed.',
  parse: secondsFrom(1, 3600),
  wrong: 'is not a number of seconds from 1 to 3600',
}

export const listeningOptions: readonly Option[] = [
  listenOption,
  ...tlsOptions,
  bookmarkIntervalOption,
  pingIntervalOption,
  pingTimeoutOption,
  {
    name: 'plain-watches',
    help: 'Compresses no watch. Servers of Kubernetes 1.37 and later compress streaming lists for clients that accept gzip, and some of these cannot read them.',
  },
  {
    name: 'allowed-host',
    value: 'NAME',
    many: true,
    help: 'Further names of an unauthenticated server on a loopback address, beside localhost and addresses: requests for other names are refused, because a web page may have sent them.',
  },
  {
    name: 'continue-key-file',
    value: 'FILE',
    help: 'Encrypts continue tokens. The file has one key of 32 bytes (base64) a line: the first encrypts, all decrypt.',
  },
]

export const shutdownDelayOption: DefaultedOption<number> = {
  name: 'shutdown-delay',
  value: 'SECONDS',
  fallback: '0',
  help: 'How long to keep serving after SIGTERM or SIGINT while /readyz already fails, so that load balancers stop sending requests.',
  parse: secondsFrom(0, 9999),
  wrong: 'is not a number of seconds from 0 to 9999',
}
