/** The listener of etcd's own API that the options ask for. */

import { isLoopback } from '@watchglass/base'
import type { AllowedTexts, EtcdListen, EtcdListenFiles } from '@watchglass/etcd-server'
import { listed, type OptionValues } from '../../options/option-values.ts'
import {
  etcdListenAllowOption,
  etcdListenFileOptions,
  etcdListenOption,
} from '../../options/etcd-listen.ts'
import { invalid } from '../../options/invalid.ts'
import { checkRules, valueOf, valuesOf } from '../../options/rules.ts'

/** The address of `--etcd-listen`; undefined if it is not given. */
export function etcdListenOf(values: OptionValues): EtcdListen | undefined {
  checkRules(values, etcdListenFileOptions)
  const listen = valueOf(values, etcdListenOption)
  if (listen === undefined) return undefined
  const { address, host } = listen
  const tlsFiles = filesOf(values)
  if (!isLoopback(host) && tlsFiles?.clientCaFile === undefined) {
    throw invalid(
      `refusing to serve etcd's API on ${address}: anyone who can connect could read and change everything; set --etcd-listen-cert, --etcd-listen-key and --etcd-listen-client-ca, or listen on a loopback address`,
    )
  }
  const rules = rulesOf(values)
  checkRules(values, [etcdListenAllowOption])
  return { address, tlsFiles, prefixes: prefixesOf(values), rules }
}

function rulesOf(values: OptionValues): ReadonlyMap<string, AllowedTexts> | undefined {
  const allowed = valuesOf(values, etcdListenAllowOption)
  if (allowed.length === 0) return undefined
  const rules = new Map<string, { read: string[]; write: string[] }>()
  for (const { name, prefixes } of allowed) {
    const rule = rules.get(name) ?? { read: [], write: [] }
    rules.set(name, rule)
    for (const part of prefixes) {
      const isRead = part.startsWith('read:')
      const prefix = isRead ? part.slice('read:'.length) : part
      if (prefix === '') {
        throw invalid(`--etcd-listen-allow "${name}=${prefixes.join(',')}" has an empty prefix`)
      }
      rule[isRead ? 'read' : 'write'].push(prefix)
    }
  }
  return rules
}

/** The longer ones of two that overlap are left out. */
function prefixesOf(values: OptionValues): string[] {
  const given = listed(values, 'etcd-listen-prefix')
  const all = given.length === 0 ? [`${values.text('prefix') ?? ''}/`] : given
  const prefixes = all.map(prefix => (prefix === 'all' ? '' : prefix))
  return prefixes.filter(
    (one, i) => !prefixes.some((other, j) => one.startsWith(other) && (one !== other || j < i)),
  )
}

const names = {
  cert: '--etcd-listen-cert',
  key: '--etcd-listen-key',
  clientCa: '--etcd-listen-client-ca',
}

function filesOf(values: OptionValues): EtcdListenFiles | undefined {
  const [certFile, keyFile, clientCaFile] = ['cert', 'key', 'client-ca'].map(name =>
    values.text(`etcd-listen-${name}`),
  )
  if (certFile === undefined || keyFile === undefined) return undefined
  return { certFile, keyFile, clientCaFile, options: names }
}
