/** An API server that allows everything and counts the reviews that it gets. It is as fast as such
 *  a server can be. */

import * as http from 'node:http'
import type { AddressInfo } from 'node:net'

export class ReviewCounter {
  /** Number of questions so far. */
  reviews = 0
  readonly #server: http.Server

  private constructor(userOf: ((authorization: string) => string) | undefined) {
    this.#server = http.createServer((request, response) => {
      request.resume()
      request.on('end', () => {
        if (request.method === 'POST') this.reviews++
        const { authorization = '' } = request.headers
        const userInfo = userOf && { username: userOf(authorization) }
        response.writeHead(201, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ status: { allowed: true, userInfo } }))
      })
    })
  }

  /** Names nobody, if it is not said whose an `Authorization` is. */
  static async start(userOf?: (authorization: string) => string): Promise<ReviewCounter> {
    const counter = new ReviewCounter(userOf)
    await new Promise<void>(resolve => counter.#server.listen(0, '127.0.0.1', resolve))
    return counter
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }
}
