/** The programs between the clients and an etcd: nothing, `etcd grpc-proxy`, or Watchglass. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Program } from '../../test/support/etcd/real-etcd.ts'
import { programFlags } from '../../test/support/program/program-flags.ts'
import { freePort } from '../../test/support/program/ports.ts'
import { ProcessUsage } from '../proxy/process-usage.ts'

export const fronts = ['etcd', 'grpc-proxy', 'watchglass'] as const
export type Front = (typeof fronts)[number]

export interface FrontProgram {
  readonly address: string
  cpuSeconds(): Promise<number>
  stop(): Promise<void>
}

/** Starts it on a free port, and waits until it is ready. */
export async function startFront(
  front: Front,
  etcd: Program,
  endpoint: string,
): Promise<FrontProgram> {
  if (front === 'etcd') {
    return {
      address: endpoint.replace('http://', ''),
      cpuSeconds: () => Promise.resolve(0),
      stop: () => Promise.resolve(),
    }
  }
  const address = `127.0.0.1:${await freePort()}`
  const child =
    front === 'grpc-proxy'
      ? spawn(
          etcd.binary,
          ['grpc-proxy', 'start', `--endpoints=${endpoint}`, `--listen-addr=${address}`],
          { stdio: ['ignore', 'ignore', 'pipe'] },
        )
      : spawn(process.execPath, [...programFlags(), ...watchglassArgs(endpoint, address)], {
          stdio: ['ignore', 'ignore', 'pipe'],
        })
  const isReady = front === 'grpc-proxy' ? /listening for gRPC proxy|started gRPC proxy/ : /"ready"/
  for await (const line of createInterface({ input: child.stderr! })) if (isReady.test(line)) break
  child.stderr?.resume()
  const usage = new ProcessUsage(child, 0)
  return {
    address,
    cpuSeconds: () => usage.cpuSeconds(),
    async stop() {
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
  }
}

function watchglassArgs(endpoint: string, address: string): string[] {
  const args = ['serve', '--listen=none', `--etcd=${endpoint}`, `--etcd-listen=${address}`]
  return ['.', ...args]
}
