/** `watchglass run -- COMMAND`: a fresh cluster on a free port of this machine for as long as a
 *  command takes, for tests in any language. The command finds it by KUBECONFIG. */

import { randomBytes } from 'node:crypto'
import { CacheError } from '@watchglass/base'
import { wings } from '../../compose/sides.ts'
import type { KubeService } from '../../compose/kube-service.ts'
import { commands } from '../commands.ts'
import { OptionValues } from '../../options/option-values.ts'
import { systemClock } from '@watchglass/cache'
import type { CommandContext } from '../context.ts'
import { whileServing } from '../serve.ts'
import { Applier } from './apply.ts'
import { Child, codeOfSignal } from './child.ts'
import { type ClusterFolder, createFolder, removeFolder, writeClientFiles } from './folder.ts'
import { type Manifest, manifestsIn } from './manifests.ts'
import { RunProgress } from './run-progress.ts'
import { freePort } from './free-port.ts'

const host = '127.0.0.1'

/** By which pods would know a server, and programs on this machine. */
const serverNames = [
  'localhost',
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
  host,
  '::1',
  '10.96.0.1',
]

export async function runInCluster(context: CommandContext): Promise<number> {
  const { values, operands } = context
  if (operands.length === 0) {
    throw new CacheError(
      'invalid_request',
      'say what to run, such as: watchglass run -- npm test; try "watchglass run --help"',
    )
  }
  const manifests = manifestsOf(values)
  const stopping = new Stopping(context)
  const { createAuthority } = await wings.authority()
  const authority = createAuthority(systemClock.wallMs())
  const tokens = { admin: newToken(), visitor: newToken() }
  const folder = createFolder(authority, { names: serverNames, tokens })
  // Whatever ends the process.
  const remove = (): void => removeFolder(folder)
  const isKept = values.switch('keep')
  if (!isKept) process.on('exit', remove)
  const progress = new RunProgress(process.stderr)
  try {
    progress.say('starting a cluster')
    const serving = {
      ...context,
      signal: stopping.signal,
      values: await serveValues(values, folder),
    }
    return await whileServing(serving, async (service, address) => {
      await service.ready
      writeClientFiles(folder, { address, authority, tokens })
      await applyAll(manifests, service, {
        address,
        authority: authority.cert,
        token: tokens.admin,
        signal: stopping.signal,
        progress,
      })
      progress.say(`the cluster is serving at ${address}`)
      progress.end()
      return await stopping.run(() => new Child(operands, environmentOf(folder, service)))
    })
  } finally {
    if (isKept) process.stderr.write(`watchglass: kept ${folder.path}\n`)
    else {
      process.off('exit', remove)
      remove()
    }
  }
}

/** The manifests to apply: read before anything is started, so that mistakes are told at once. */
function manifestsOf(values: OptionValues): readonly Manifest[] {
  return ['crds', 'apply'].flatMap(option => {
    const folder = values.text(option)
    return folder === undefined ? [] : manifestsIn(folder, `--${option}`)
  })
}

function newToken(): string {
  return randomBytes(24).toString('base64url')
}

/** The options of `serve`: those given, where the cluster listens, and what `serve` has by
 *  itself. */
async function serveValues(values: OptionValues, folder: ClusterFolder): Promise<OptionValues> {
  const usual = commands.serve.options.flatMap(({ name, fallback }): [string, string[]][] =>
    fallback === undefined ? [] : [[name, [fallback]]],
  )
  // Workers share a port that is known before.
  const port = values.text('threads') === '1' ? 0 : await freePort(host)
  return new OptionValues(
    new Map<string, readonly string[]>([
      ...usual,
      ...values.entries,
      ['etcd', ['embedded']],
      ['listen', [`https://${host}:${port}`]],
      ['tls-cert', [folder.certFile]],
      ['tls-key', [folder.keyFile]],
      ['auth', ['rbac']],
      ['token-auth-file', [folder.tokenFile]],
    ]),
  )
}

interface ApplyingTo {
  readonly address: string
  readonly authority: string
  readonly token: string
  readonly signal: AbortSignal
  readonly progress: RunProgress
}

async function applyAll(
  manifests: readonly Manifest[],
  service: KubeService,
  { progress, ...server }: ApplyingTo,
): Promise<void> {
  const registry = (): KubeService['registry']['state']['registry'] =>
    service.registry.state.registry
  const applier = new Applier({ ...server, registry, clock: systemClock })
  try {
    for (const [i, manifest] of manifests.entries()) {
      if (server.signal.aborted) return
      progress.say(`applying ${i + 1} of ${manifests.length}: ${manifest.kind} ${manifest.name}`)
      await applier.apply(manifest)
    }
  } catch (error) {
    if (!server.signal.aborted) throw error
  } finally {
    applier.close()
  }
}

/** As pods have it, and clients outside of them. */
function environmentOf(
  { kubeconfig, account }: ClusterFolder,
  { port }: KubeService,
): NodeJS.ProcessEnv {
  return {
    ...process.env,
    KUBECONFIG: kubeconfig,
    KUBERNETES_SERVICE_HOST: host,
    KUBERNETES_SERVICE_PORT: String(port),
    KUBERNETES_SERVICE_PORT_HTTPS: String(port),
    WATCHGLASS_SERVICE_ACCOUNT: account,
  }
}

/** Signals: before the command runs they end the start, and then they are the command's. */
class Stopping {
  readonly #abort = new AbortController()
  #child: Child | undefined
  #last: NodeJS.Signals | undefined

  constructor({ takeSignals, signal }: CommandContext) {
    takeSignals(name => {
      this.#last = name
      if (this.#child === undefined) this.#abort.abort()
      else this.#child.pass(name)
    })
    // A bug in our own code stops the program, too.
    signal.addEventListener('abort', () => {
      this.#last ??= 'SIGTERM'
      this.#abort.abort()
      this.#child?.pass('SIGTERM')
    })
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  async run(start: () => Child): Promise<number> {
    if (this.#abort.signal.aborted) return codeOfSignal(this.#last ?? 'SIGTERM')
    this.#child = start()
    const { code, problem } = await this.#child.ended
    if (problem !== undefined) process.stderr.write(`watchglass: ${problem}\n`)
    return code
  }
}
