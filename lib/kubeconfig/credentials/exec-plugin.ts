/** Credentials of an exec plugin, such as those of EKS, GKE and AKS: a program that prints an
 *  `ExecCredential` (client.authentication.k8s.io; client-go's `plugin/pkg/client/auth/exec`).
 *
 *  What it prints is used until it expires or the server refuses it. One run is shared by all who
 *  wait for it, since a run may ask a person to log in. */

import { CacheError, type Clock } from '@watchglass/base'
import { cleanText } from '../file/clean-text.ts'
import type { ExecPluginSettings, KubeconfigCluster } from '../file/kubeconfig.ts'
import type { KubeconfigSystem, PluginEnd } from '../system.ts'
import { credentialsFrom, execInfo, type PluginCredentials } from './exec-credential.ts'

/** Longer than the three minutes that kubelogin waits for somebody who logs in with a browser. */
const runMaxMs = 5 * 60_000
/** An ExecCredential with a chain of certificates has some 20 KB. */
const outputMaxBytes = 1024 * 1024
/** Requests that come within the pause after a failure get the same failure: else each of them
 *  would start a program. */
const failurePause = { firstMs: 1_000, maxMs: 30_000 }
/** A server that refuses all there is would have the plugin run for each request. */
const refusedPauseMs = 10_000

export interface ExecPluginOptions {
  readonly settings: ExecPluginSettings
  /** The user of the kubeconfig, for messages. */
  readonly place: string
  readonly cluster: KubeconfigCluster
  /** The certificate authority of the cluster as it is now. */
  readonly authority: () => Buffer | undefined
  readonly system: Pick<KubeconfigSystem, 'env' | 'isTerminal' | 'run'>
  readonly clock: Clock
  /** Called with new credentials before anybody else has them. */
  readonly onRenewed: (credentials: PluginCredentials) => void
}

export class ExecPlugin {
  readonly #options: ExecPluginOptions
  #current: PluginCredentials | undefined = undefined
  #running: Promise<PluginCredentials> | undefined = undefined
  #failure: { readonly error: unknown; readonly untilMs: number } | undefined = undefined
  #pauseMs = failurePause.firstMs
  /** When credentials were last asked for because the server had refused some. */
  #refusedAtMs = Number.NEGATIVE_INFINITY

  constructor(options: ExecPluginOptions) {
    this.#options = options
  }

  /** The current credentials; runs the plugin if there are none. Fails with `unauthorized`. */
  credentials(): Promise<PluginCredentials> {
    const { clock } = this.#options
    const current = this.#current
    const isExpired = current?.expiresAtMs !== undefined && clock.wallMs() > current.expiresAtMs
    if (current !== undefined && !isExpired) return Promise.resolve(current)
    const failure = this.#failure
    if (failure !== undefined && clock.monotonicMs() < failure.untilMs) {
      return Promise.reject(CacheError.from(failure.error, 'unauthorized'))
    }
    this.#running ??= this.#renew().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** The server has refused these with 401: they are not used again, unless that has just been
   *  tried. */
  refused(used: PluginCredentials): void {
    const nowMs = this.#options.clock.monotonicMs()
    if (used !== this.#current || nowMs < this.#refusedAtMs + refusedPauseMs) return
    this.#refusedAtMs = nowMs
    this.#current = undefined
  }

  async #renew(): Promise<PluginCredentials> {
    const { clock, onRenewed } = this.#options
    try {
      const renewed = await this.#run()
      this.#failure = undefined
      this.#pauseMs = failurePause.firstMs
      onRenewed(renewed)
      this.#current = renewed
      return renewed
    } catch (error) {
      this.#failure = { error, untilMs: clock.monotonicMs() + this.#pauseMs }
      this.#pauseMs = Math.min(this.#pauseMs * 2, failurePause.maxMs)
      throw error
    }
  }

  async #run(): Promise<PluginCredentials> {
    const { settings, place, cluster, authority, system } = this.#options
    const { command, args, apiVersion } = settings
    const name = `exec plugin ${JSON.stringify(command)}`
    const isInteractive = settings.interactiveMode !== 'Never' && system.isTerminal
    if (settings.interactiveMode === 'Always' && !isInteractive) {
      throw failed(
        place,
        `${name} needs a terminal (interactiveMode is Always), and standard input is none`,
      )
    }
    const told = settings.providesClusterInfo ? { entry: cluster, ca: authority() } : undefined
    const end = await system.run({
      command,
      args,
      env: {
        ...system.env,
        ...Object.fromEntries(settings.env.map(one => [one.name, one.value])),
        KUBERNETES_EXEC_INFO: execInfo(apiVersion, isInteractive, told),
      },
      isInteractive,
      maxMs: runMaxMs,
      outputMaxBytes,
    })
    const problem = problemOf(end, settings)
    if (problem !== undefined) throw failed(place, `${name} ${problem}`)
    try {
      return credentialsFrom(end.type === 'exited' ? end.output : '', apiVersion)
    } catch (error) {
      throw failed(place, `${name} ${CacheError.from(error, 'unauthorized').message}`)
    }
  }
}

function problemOf(
  end: PluginEnd,
  { command, installHint }: ExecPluginSettings,
): string | undefined {
  switch (end.type) {
    case 'exited':
      return end.code === 0
        ? undefined
        : `failed with exit code ${end.code}; the reason is what it wrote to standard error`
    case 'signalled':
      return `was ended by ${end.signal}`
    case 'late':
      return `has not ended within ${runMaxMs / 60_000} minutes`
    case 'verbose':
      return `wrote more than ${outputMaxBytes} bytes to standard output`
    case 'failed':
      return `could not be started: ${end.reason}`
    case 'missing': {
      const hint = cleanText(installHint).trim()
      const where = command.includes('/') ? 'does not exist' : 'is not in PATH'
      return `${where}; install it${hint === '' ? '' : `: ${hint}`}`
    }
  }
}

function failed(place: string, message: string): CacheError {
  return new CacheError('unauthorized', `${place}: ${message}`)
}
