/** Starts a cluster in a process of its own: address, credentials, faults, objects. */

import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { ClusterFaults } from './cluster-faults.ts'
import { argumentsOf, type TestClusterOptions } from './cluster-options.ts'
import { ClusterProcess, type ClusterVariables } from './cluster-process.ts'

export interface TestCluster {
  /** `https://127.0.0.1:PORT`; its certificate is signed by `certificate`. */
  readonly address: string
  /** PEM of the authority, made for this cluster. */
  readonly certificate: string
  /** The bearer token of an administrator. */
  readonly token: string
  /** The text of a kubeconfig with the contexts `watchglass`, an administrator, and `visitor`, to
   *  whom nothing is granted. */
  readonly kubeconfig: string
  /** The file that has it, for as long as the cluster runs. */
  readonly kubeconfigFile: string
  /** The address of metrics and faults, without TLS and authentication. */
  readonly adminAddress: string
  /** The environment for a program that is to find the cluster: KUBECONFIG and the like. */
  readonly env: ClusterVariables
  readonly faults: ClusterFaults
  /** Applies objects, and those in files and folders of YAML and JSON, server-side and in this
   *  order. Resolves when all are there, and definitions established. */
  apply(...parts: readonly (string | object)[]): Promise<void>
  /** Ends the cluster and removes its files. Resolves when nothing is left. Without it the same
   *  happens when this process ends. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export interface StartOptions extends TestClusterOptions {
  /** The script of the program, where it is not the package `watchglass` beside this one. */
  readonly program?: string | undefined
}

/** Resolves when the cluster serves and has what the options apply. Rejects with the program's
 *  words when an option is wrong, or an object refused. */
export async function startCluster({
  program,
  ...options
}: StartOptions = {}): Promise<TestCluster> {
  const { process, variables } = await ClusterProcess.start(argumentsOf(options), program)
  try {
    return await clusterOf(process, { variables, faults: [options.fault ?? []].flat() })
  } catch (error) {
    await process.stop()
    throw error
  }
}

async function clusterOf(
  process: ClusterProcess,
  { variables, faults }: { readonly variables: ClusterVariables; readonly faults: string[] },
): Promise<TestCluster> {
  const {
    KUBECONFIG: kubeconfigFile = '',
    KUBERNETES_SERVICE_HOST: host = '',
    KUBERNETES_SERVICE_PORT: port = '',
    WATCHGLASS_ADMIN: adminAddress = '',
    WATCHGLASS_SERVICE_ACCOUNT: account = '',
  } = variables
  const [kubeconfig, certificate, token] = await Promise.all(
    [kubeconfigFile, join(account, 'ca.crt'), join(account, 'token')].map(file =>
      readFile(file, 'utf8'),
    ),
  )
  const stop = (): Promise<void> => process.stop()
  return {
    address: `https://${host}:${port}`,
    certificate: certificate ?? '',
    token: token ?? '',
    kubeconfig: kubeconfig ?? '',
    kubeconfigFile,
    adminAddress,
    env: variables,
    faults: new ClusterFaults(adminAddress, faults),
    apply: (...parts) =>
      process.apply(parts.map(part => (typeof part === 'string' ? resolve(part) : part))),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}
