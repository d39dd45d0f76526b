/** Sends HTTP as raw bytes, to test requests that no well-behaved client sends. */

import * as net from 'node:net'

/** Sends bytes over a connection of its own; what comes back until it ends. */
export function raw(port: number, text: string | Buffer): Promise<string> {
  return new Promise(resolve => {
    const socket = net.connect({ port, host: '127.0.0.1' })
    const pieces: Buffer[] = []
    socket.on('data', piece => pieces.push(piece))
    socket.on('error', () => {})
    socket.on('close', () => resolve(Buffer.concat(pieces).toString('latin1')))
    socket.write(text)
  })
}

/** A request line and headers, and nothing after them. */
export function head(line: string, ...headers: string[]): string {
  return [`${line} HTTP/1.1`, 'Host: x', ...headers, '', ''].join('\r\n')
}

/** The code of an answer; 0 if there is none. */
export function codeIn(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0)
}
