/** Stands between a service and its upstream, passes on every byte, and reads requests as strictly
 *  as RFC 9112 allows: what it would read in another way than it was meant, and whatever must not
 *  be there, is a finding. */

import * as net from 'node:net'
import type { AddressInfo } from 'node:net'

export interface Tap {
  readonly url: string
  readonly findings: readonly string[]
  /** Requests that have come through whole. */
  readonly requests: number
  close(): void
}

export async function openTap(upstreamPort: number): Promise<Tap> {
  const findings: string[] = []
  const sockets = new Set<net.Socket>()
  let requests = 0
  const server = net.createServer(client => {
    const upstream = net.connect({ port: upstreamPort, host: '127.0.0.1' })
    const reader = new StrictReader(
      () => requests++,
      what => findings.push(what),
    )
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', piece => reader.take(piece as Buffer))
    upstream.on('data', piece => reader.answered(piece as Buffer))
    client.pipe(upstream)
    upstream.pipe(client)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    findings,
    get requests() {
      return requests
    },
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

const requestLine = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+ [\x21-\x7e\x80-\xff]+ HTTP\/1\.1$/
const headerLine = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+): ([\t\x20-\x7e\x80-\xff]*)$/

class StrictReader {
  readonly #onRequest: () => void
  readonly #onFinding: (what: string) => void
  #text = ''
  #state: 'head' | 'counted' | 'chunk' | 'trailers' | 'tunnel' = 'head'
  #left = 0
  #mayUpgrade = false

  constructor(onRequest: () => void, onFinding: (what: string) => void) {
    this.#onRequest = onRequest
    this.#onFinding = onFinding
  }

  /** Notes an answer: a 101 ends the HTTP of a connection. */
  answered(piece: Buffer): void {
    const isSwitched = piece.toString('latin1').startsWith('HTTP/1.1 101')
    if (this.#mayUpgrade && isSwitched) this.#state = 'tunnel'
  }

  take(piece: Buffer): void {
    if (this.#state === 'tunnel') return
    this.#text += piece.toString('latin1')
    while (this.#step()) {
      // Until more is needed.
    }
  }

  #step(): boolean {
    switch (this.#state) {
      case 'tunnel':
        return false
      case 'head':
        return this.#head()
      case 'counted': {
        const taken = Math.min(this.#left, this.#text.length)
        this.#text = this.#text.slice(taken)
        this.#left -= taken
        if (this.#left > 0) return false
        return this.#end()
      }
      case 'chunk':
        return this.#chunk()
      case 'trailers':
        return this.#trailers()
    }
  }

  #head(): boolean {
    const end = this.#text.indexOf('\r\n\r\n')
    if (end < 0) return false
    const head = this.#text.slice(0, end)
    this.#text = this.#text.slice(end + 4)
    const [first = '', ...rest] = head.split('\r\n')
    if (!requestLine.test(first)) this.#onFinding(`request line ${JSON.stringify(first)}`)
    const headers = this.#headers(rest)
    // What has come through the door bears its mark; what was hidden in a body does not.
    const isMarked = headers.some(([name]) => name === 'x-forwarded-proto')
    if (first.includes('/smuggled') && !isMarked) this.#onFinding('a request hidden in another')
    const lengths = headers.filter(([name]) => name === 'content-length')
    const codings = headers.filter(([name]) => name === 'transfer-encoding')
    const hosts = headers.filter(([name]) => name === 'host')
    if (hosts.length !== 1) this.#onFinding(`${hosts.length} hosts`)
    if (lengths.length + codings.length > 1) this.#onFinding(`two lengths: ${JSON.stringify(head)}`)
    this.#mayUpgrade = headers.some(([name]) => name === 'upgrade')
    const [length] = lengths
    const [coding] = codings
    if (coding !== undefined) {
      if (coding[1] !== 'chunked') this.#onFinding(`coding ${coding[1]}`)
      this.#state = 'chunk'
    } else if (length !== undefined) {
      if (!/^\d{1,15}$/.test(length[1])) this.#onFinding(`length ${length[1]}`)
      this.#left = Number(length[1])
      this.#state = 'counted'
    } else this.#onRequest()
    return true
  }

  #chunk(): boolean {
    const end = this.#text.indexOf('\r\n')
    if (end < 0) return false
    const size = this.#text.slice(0, end)
    if (!/^[0-9a-f]{1,12}$/.test(size)) this.#onFinding(`size ${JSON.stringify(size)}`)
    const bytes = Number.parseInt(size, 16)
    if (bytes === 0) {
      this.#text = this.#text.slice(end + 2)
      this.#state = 'trailers'
      return true
    }
    if (this.#text.length < end + 4 + bytes) return false
    const after = this.#text.slice(end + 2 + bytes, end + 4 + bytes)
    if (after !== '\r\n') this.#onFinding('a long chunk')
    this.#text = this.#text.slice(end + 4 + bytes)
    return true
  }

  #trailers(): boolean {
    if (this.#text.startsWith('\r\n')) {
      this.#text = this.#text.slice(2)
      return this.#end()
    }
    const end = this.#text.indexOf('\r\n\r\n')
    if (end < 0) return false
    const trailers = this.#headers(this.#text.slice(0, end).split('\r\n'))
    const hasLength = trailers.some(([name]) => name === 'content-length')
    if (hasLength) this.#onFinding('a length behind a body')
    this.#text = this.#text.slice(end + 4)
    return this.#end()
  }

  #end(): boolean {
    this.#state = 'head'
    this.#onRequest()
    return this.#text !== ''
  }

  #headers(lines: readonly string[]): [name: string, value: string][] {
    return lines.flatMap(line => {
      const [, name, value] = headerLine.exec(line) ?? []
      if (name === undefined || value === undefined) {
        this.#onFinding(`header ${JSON.stringify(line)}`)
        return []
      }
      const plain = name.toLowerCase().replaceAll('_', '-')
      if (plain.startsWith('x-remote-')) this.#onFinding(`identity ${JSON.stringify(line)}`)
      return [[name.toLowerCase(), value] as [string, string]]
    })
  }
}
