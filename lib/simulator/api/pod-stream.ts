/** `exec` and `attach` of simulated pods, which are answered over a WebSocket, and `port-forward`,
 *  where a rule says to what a port leads. */

import type { Clock } from '@watchglass/base'
import { badRequest, needsKubelet, type Query, type ResourceRoute } from '@watchglass/kube'
import { type RequestContext, UserTally } from '@watchglass/cache'
import { shellContainer } from '../streams/shell-container.ts'
import { forwardProtocol, runPortForward, type TargetOf } from '../streams/port-forward.ts'
import { channelProtocol } from '../streams/channels.ts'
import { HeldStreamBytes } from '../streams/held-bytes.ts'
import { runStream, type Work } from '../streams/pod-streams.ts'
import type { PodRules } from '../pod-rules/pod-rules.ts'
import {
  chosenContainer,
  isRunning,
  loggedScript,
  type LoggedPod,
  podLog,
  ruleFor,
} from './pod-log.ts'

const notSpoken =
  'without SPDY/3.1 of v4.channel.k8s.io, or a WebSocket of it or of v5.channel.k8s.io,'

const notForwarded = 'without SPDY/3.1, on the connection or through a WebSocket,'

/** Streams that may be open at once. */
const openMax = 500
/** Bytes that the streams of a user hold, and all together. */
const heldMaxBytes = { user: 64 * 1024 ** 2, all: 256 * 1024 ** 2 }

/** The streams of one service. */
export class PodStreams {
  readonly #rules: PodRules | undefined
  readonly #held = new UserTally(heldMaxBytes.user, heldMaxBytes.all)
  #open = 0

  constructor(rules?: PodRules) {
    this.#rules = rules
  }

  /** Connects ports to where rules say that they lead. */
  async forward(
    context: RequestContext,
    { resource, subresource }: ResourceRoute,
    { metadata }: LoggedPod,
    clock: Clock,
  ): Promise<undefined> {
    const { request } = context
    const forwards = this.#rules?.forwards
    if (forwards?.concerns(metadata) !== true) throw needsKubelet(resource, subresource)
    const protocol = forwardProtocol(request)
    if (protocol === undefined) throw needsKubelet(resource, `${subresource} ${notForwarded}`)
    const pod = `${metadata.namespace ?? ''}/${metadata.name}`
    const targetOf: TargetOf = port => {
      const rule = forwards.find(metadata, port)
      if (rule === undefined) return `no forward found for port ${port} in pod "${pod}"`
      if (rule !== 'none of its own') return rule
      return `forward not found for port ${port} in pod "${pod}"`
    }
    await this.#while(context, held => runPortForward(request, protocol, { targetOf, clock, held }))
    return undefined
  }

  /** Resolves when the connection is over; refusals are thrown before anything is answered. */
  async answer(
    context: RequestContext,
    { resource, subresource }: ResourceRoute,
    pod: LoggedPod,
    clock: Clock,
  ): Promise<undefined> {
    const { request, target } = context
    const isTerminal = target.query.text('tty') === 'true'
    // Before the protocol: a client that is refused tries the other one, and tells its answer.
    const nowMs = clock.wallMs()
    const asked = { subresource, query: target.query, nowMs }
    const work = await workOf(pod, asked, this.#rules)
    const protocol = channelProtocol(request)
    if (protocol === undefined) throw needsKubelet(resource, `${subresource} ${notSpoken}`)
    await this.#while(context, held =>
      runStream(
        request,
        { ...work, protocol, isTerminal, asked: channelsIn(target.query, isTerminal), held },
        clock,
      ),
    )
    return undefined
  }

  async #while(
    { reply, grant }: RequestContext,
    run: (held: HeldStreamBytes) => Promise<void>,
  ): Promise<void> {
    if (this.#open >= openMax) throw badRequest(`${String(openMax)} streams to pods are open`)
    this.#open++
    const held = new HeldStreamBytes(this.#held, grant?.user())
    try {
      reply.passed(101, {})
      await run(held)
    } finally {
      this.#open--
      held.end()
    }
  }
}

/** The channels that a client asks for. A terminal has its errors among its output. */
function channelsIn(query: Query, isTerminal: boolean): ReadonlySet<string> {
  const named = ['stdin', 'stdout', 'stderr'].filter(name => query.text(name) === 'true')
  return new Set(isTerminal ? [...named.filter(name => name !== 'stderr'), 'resize'] : named)
}

interface Asked {
  readonly subresource: string
  readonly query: Query
  readonly nowMs: number
}

async function workOf(
  pod: LoggedPod,
  { subresource, query, nowMs }: Asked,
  rules: PodRules | undefined,
): Promise<Work> {
  const container = chosenContainer(pod, query.text('container'))
  if (!isRunning(pod, container.name)) throw badRequest(`container not found ("${container.name}")`)
  if (subresource === 'attach') {
    const own = rules && ruleFor(rules.attaches, 'attaches', pod, container.name)
    const shown = own === undefined ? rules?.logs : rules?.attaches
    const script = await loggedScript(pod, query)
    return { type: 'attach', log: podLog(pod, query, { nowMs, rules: shown, script }) }
  }
  const argv = query.all('command')
  if (argv.length === 0) throw badRequest('you must specify at least one command for the container')
  const rule = rules && ruleFor(rules.execs, 'exec', pod, container.name)
  return { type: 'exec', argv, container: shellContainer(pod, container, rule) }
}
