/** `exec` and `attach` of made-up pods: made-up answers over a WebSocket. */

import type { Clock } from '../../base/clock.ts'
import type { Query } from '../../kube/request/request.ts'
import type { ResourceRoute } from '../../kube/request/routes.ts'
import { badRequest, needsKubelet } from '../../kube/status.ts'
import type { RequestContext } from '../../http/exchange/request-context.ts'
import { execAnnotation, type Container } from '../streams/shell.ts'
import { runStream, streamProtocol, type Work } from '../streams/pod-streams.ts'
import { chosenContainer, isRunning, type LoggedPod, podLog } from './pod-log.ts'

/** SPDY, which clients before kubectl 1.31 speak. */
const notSpoken = 'without a WebSocket of v4.channel.k8s.io or v5.channel.k8s.io'

/** Streams that may be open at once. */
const openMax = 500

/** The streams of one service. */
export class PodStreams {
  #open = 0

  /** Resolves when the connection is over; refusals are thrown before anything is answered. */
  async answer(
    { exchange, reply, target }: RequestContext,
    { resource, subresource }: ResourceRoute,
    pod: LoggedPod,
    clock: Clock,
  ): Promise<undefined> {
    const isTerminal = target.query.text('tty') === 'true'
    // Before the protocol: a client that is refused tries the other one, and tells its answer.
    const work = { ...workOf(pod, subresource, target.query), isTerminal }
    const protocol = streamProtocol(exchange)
    if (protocol === undefined) throw needsKubelet(resource, `${subresource} ${notSpoken}`)
    if (this.#open >= openMax) throw badRequest(`${String(openMax)} streams to pods are open`)
    this.#open++
    try {
      reply.passed(101, {})
      await runStream(exchange, protocol, work, clock)
    } finally {
      this.#open--
    }
    return undefined
  }
}

function workOf(pod: LoggedPod, subresource: string, query: Query): Work {
  const container = chosenContainer(pod, query.text('container'))
  if (!isRunning(pod, container.name)) throw badRequest(`container not found ("${container.name}")`)
  if (subresource === 'attach') return { type: 'attach', log: podLog(pod, query) }
  const argv = query.all('command')
  if (argv.length === 0) throw badRequest('you must specify at least one command for the container')
  return { type: 'exec', argv, container: containerOf(pod, container) }
}

function containerOf(
  { metadata }: LoggedPod,
  { name, env = [] }: ReturnType<typeof chosenContainer>,
): Container {
  const own = env.flatMap(({ name: key, value }) => (value === undefined ? [] : [[key, value]]))
  const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
  return {
    pod: metadata.name,
    name,
    env: {
      PATH: path,
      HOSTNAME: metadata.name,
      ...(Object.fromEntries(own) as object),
      HOME: '/root',
    },
    answers: metadata.annotations?.[execAnnotation],
  }
}
