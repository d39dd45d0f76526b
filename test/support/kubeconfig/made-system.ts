/** A machine that is made up: its files, variables and programs are what a test says. */

import type { KubeconfigSystem, PluginEnd, PluginProgram } from '../../../lib/kubeconfig/system.ts'

export interface MadeSystem extends KubeconfigSystem {
  readonly files: Map<string, string | Buffer>
  readonly runs: PluginProgram[]
}

export interface Made {
  readonly files?: Readonly<Record<string, string | Buffer>>
  readonly env?: Readonly<Record<string, string>>
  readonly isTerminal?: boolean
  readonly run?: (program: PluginProgram) => PluginEnd | Promise<PluginEnd>
}

export function madeSystem({ files = {}, env = {}, isTerminal = false, run }: Made): MadeSystem {
  const kept = new Map(Object.entries(files))
  const runs: PluginProgram[] = []
  return {
    env,
    homeFolder: '/home/me',
    isTerminal,
    files: kept,
    runs,
    async readFile(path) {
      const found = kept.get(path)
      if (found !== undefined) return Buffer.from(found)
      throw Object.assign(new Error(`no such file: ${path}`), { code: 'ENOENT' })
    },
    async run(program) {
      runs.push(program)
      return (await run?.(program)) ?? { type: 'missing' }
    },
  }
}

/** A kubeconfig with one context: JSON, which is YAML, too. */
export function oneContext(
  user: Readonly<Record<string, unknown>>,
  cluster: Readonly<Record<string, unknown>> = {},
): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'dev',
    contexts: [{ name: 'dev', context: { cluster: 'c', user: 'me' } }],
    clusters: [{ name: 'c', cluster: { server: 'https://api.example.com:6443', ...cluster } }],
    users: [{ name: 'me', user }],
  })
}

/** The output of a plugin. */
export function credential(status: Readonly<Record<string, unknown>>, version = 'v1'): string {
  const apiVersion = `client.authentication.k8s.io/${version}`
  return JSON.stringify({ kind: 'ExecCredential', apiVersion, status })
}
