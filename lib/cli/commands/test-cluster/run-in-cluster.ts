/** `watchglass run -- COMMAND`: a fresh cluster on a free port of this machine for as long as a
 *  command takes, for tests in any language. The command finds it by KUBECONFIG. With `--stdio` the
 *  program that started this one takes the command's place. */

import { randomBytes } from 'node:crypto'
import { load } from '../../compose/loaded-code.ts'
import type { KubeService } from '../../compose/kube-service.ts'
import { commands } from '../commands.ts'
import { invalid } from '../../options/invalid.ts'
import { OptionValues } from '../../options/option-values.ts'
import { valueOf } from '../../options/rules.ts'
import { serviceIpRangeOption } from '../../options/writes.ts'
import { systemClock } from '@watchglass/cache'
import { firstAddress, usualClusterIpRange } from '@watchglass/simulator/address-range'
import type { CommandContext } from '../context.ts'
import { faultsOf } from '../plan/faults.ts'
import { whileServing } from '../serve.ts'
import { Applier } from './apply.ts'
import { Child, type ChildEnd, codeOfSignal } from './child.ts'
import { type ClusterFolder, createFolder, removeFolder, writeClientFiles } from './folder.ts'
import { type Manifest, manifestsIn } from './manifests.ts'
import { RunProgress } from './run-progress.ts'
import { freePort } from './free-port.ts'
import { StdioSession } from './stdio-session.ts'

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
]

export async function runInCluster(context: CommandContext): Promise<number> {
  const { values, operands } = context
  checkOperands(values, operands)
  const manifests = manifestsOf(values)
  const faults = (await faultsOf(values))?.rules ?? []
  const stopping = new Stopping(context)
  const { createAuthority } = await load.authority()
  const authority = createAuthority(systemClock.wallMs())
  const tokens = { admin: newToken(), visitor: newToken() }
  const range = valueOf(values, serviceIpRangeOption) ?? usualClusterIpRange
  const names = [...serverNames, firstAddress(range)]
  const folder = createFolder(authority, { names, tokens })
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
      const apply = (more: readonly Manifest[], shown?: RunProgress): Promise<void> =>
        applyAll(more, service, {
          address,
          authority: authority.cert,
          token: tokens.admin,
          signal: stopping.signal,
          progress: shown,
        })
      await apply(manifests, progress)
      // Only now, so that what is applied for the command meets none of them.
      if (faults.length > 0) await service.faults?.replace(faults)
      progress.say(`the cluster is serving at ${address}`)
      progress.end()
      const found = clusterVariables(folder, service)
      return await stopping.run(() =>
        values.switch('stdio')
          ? new StdioSession({ found, apply: more => apply(more) })
          : new Child(operands, { ...process.env, ...found }),
      )
    })
  } finally {
    if (isKept) process.stderr.write(`watchglass: kept ${folder.path}\n`)
    else {
      process.off('exit', remove)
      remove()
    }
  }
}

function checkOperands(values: OptionValues, { length }: readonly string[]): void {
  if (values.switch('stdio')) {
    if (length > 0) throw invalid('--stdio takes the place of a command: leave one of them out')
  } else if (length === 0) {
    throw invalid(
      'say what to run, such as: watchglass run -- npm test; try "watchglass run --help"',
    )
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
      ['client-ca', [folder.authorityFile]],
      ['cluster-signing-cert-file', [folder.authorityFile]],
      ['cluster-signing-key-file', [folder.authorityKeyFile]],
      ['auth', ['rbac']],
      ['token-auth-file', [folder.tokenFile]],
      ['admin-listen', [`http://${host}:0`]],
      // They begin with the command.
      ['fault', []],
    ]),
  )
}

interface ApplyingTo {
  readonly address: string
  readonly authority: string
  readonly token: string
  readonly signal: AbortSignal
  readonly progress: RunProgress | undefined
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
      progress?.say(`applying ${i + 1} of ${manifests.length}: ${manifest.kind} ${manifest.name}`)
      await applier.apply(manifest)
    }
  } catch (error) {
    if (!server.signal.aborted) throw error
  } finally {
    applier.close()
  }
}

/** The variables by which the command finds the cluster: as pods have them, and clients outside of
 *  pods. */
function clusterVariables(
  { kubeconfig, account }: ClusterFolder,
  { port, adminPort }: KubeService,
): Readonly<Record<string, string>> {
  return {
    KUBECONFIG: kubeconfig,
    KUBERNETES_SERVICE_HOST: host,
    KUBERNETES_SERVICE_PORT: String(port),
    KUBERNETES_SERVICE_PORT_HTTPS: String(port),
    WATCHGLASS_ADMIN: `http://${host}:${adminPort}`,
    WATCHGLASS_SERVICE_ACCOUNT: account,
  }
}

/** The task that the cluster is there for: a command, or a session with the program that started
 *  this one. */
interface Task {
  readonly ended: Promise<ChildEnd>
  pass(signal: NodeJS.Signals): void
}

/** Signals: before the command runs they end the start, and then they are the command's. */
class Stopping {
  readonly #abort = new AbortController()
  #task: Task | undefined
  #last: NodeJS.Signals | undefined

  constructor({ takeSignals, signal }: CommandContext) {
    takeSignals(name => {
      this.#last = name
      if (this.#task === undefined) this.#abort.abort()
      else this.#task.pass(name)
    })
    // A bug in our own code stops the program, too.
    signal.addEventListener('abort', () => {
      this.#last ??= 'SIGTERM'
      this.#abort.abort()
      this.#task?.pass('SIGTERM')
    })
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  async run(start: () => Task): Promise<number> {
    if (this.#abort.signal.aborted) return codeOfSignal(this.#last ?? 'SIGTERM')
    this.#task = start()
    const { code, problem } = await this.#task.ended
    if (problem !== undefined) process.stderr.write(`watchglass: ${problem}\n`)
    return code
  }
}
