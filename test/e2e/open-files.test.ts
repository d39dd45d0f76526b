/** The program with few files to open, and clients that take all that they get. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { keyFromText } from '../../lib/base/keys.ts'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import { startEtcd } from '../support/etcd/etcd-cluster.ts'
import { findEtcd } from '../support/etcd/real-etcd.ts'
import { patient } from '../support/patience.ts'
import { programFlags } from '../support/program/program-flags.ts'

const etcd = await findEtcd('3.5')
const skip = process.platform === 'linux' ? etcd.skip : 'the limit is Linux’s'

interface Line {
  readonly message: string
  readonly address?: string
}

interface Limited {
  readonly lines: Line[]
  readonly text: string
  line(message: RegExp): Promise<Line>
  readonly code: Promise<number | null>
}

/** Runs `watchglass serve` with so many files. */
function serve(t: Test, files: number, args: readonly string[]): Limited {
  const program = [...programFlags(), 'dist/program/cli.js', 'serve', ...args]
  const script = `ulimit -n ${files}; exec "$@"`
  const child = spawn('sh', ['-c', script, 'sh', process.execPath, ...program], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const exited = once(child, 'exit') as Promise<[number | null]>
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const texts: string[] = []
  const lines: Line[] = []
  let wake: () => void = () => {}
  createInterface(child.stderr).on('line', text => {
    texts.push(text)
    if (text.startsWith('{')) lines.push(JSON.parse(text) as Line)
    wake()
  })
  return {
    lines,
    get text() {
      return texts.join('\n')
    },
    async line(message) {
      for (;;) {
        const found = lines.find(one => message.test(one.message))
        if (found !== undefined) return found
        await new Promise<void>(resolve => (wake = resolve))
      }
    },
    code: exited.then(([code]) => code),
  }
}

/** A watch of everything; undefined if it was closed instead of answered. */
async function openWatch(t: Test, port: number): Promise<Socket | undefined> {
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  socket.write('GET /api/v1/configmaps?watch=1 HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const isOpen = await new Promise<boolean>(resolve => {
    socket.once('data', () => resolve(true))
    socket.once('close', () => resolve(false))
  })
  return isOpen ? socket : undefined
}

async function openWatches(t: Test, port: number, count: number): Promise<Socket[]> {
  const opened = await Promise.all(Array.from({ length: count }, () => openWatch(t, port)))
  return opened.filter(socket => socket !== undefined)
}

t.test('etcd comes back while clients hold all connections that they get', { skip }, async t => {
  const cluster = await startEtcd(t, etcd)
  const endpoint = cluster.endpoints[0]!
  const program = serve(t, 160, ['--etcd', endpoint, '--listen', 'http://127.0.0.1:0'])
  const { address = '' } = await program.line(/^listening/)
  await program.line(/^ready/)
  const port = Number(address.split(':').at(-1))
  const watches = await openWatches(t, port, 200)
  t.ok(watches.length > 40, `${watches.length} are served`)
  t.ok(watches.length < 140, 'and others are closed')
  const [member] = cluster.members
  await member!.kill()
  await openWatches(t, port, 50)
  await member!.restart()
  const told = new Promise<string>(resolve => {
    watches[0]!.on('data', (chunk: Buffer) => {
      if (chunk.includes('"after"')) resolve(chunk.toString())
    })
  })
  const client = new GrpcClient({ endpoints: cluster.endpoints })
  t.teardown(() => client.close())
  const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'after' } }
  const key = keyFromText('/registry/configmaps/default/after')
  const value = Buffer.from(JSON.stringify(object))
  await client.txn({ compares: [], success: [{ type: 'put', key, value }], failure: [] })
  t.match(await told, /"ADDED"/)
  t.match(await program.line(/new connections are closed/), { limit: 160, kept: 40 })
  const said = program.lines.filter(({ message }) => message.startsWith('new connections'))
  t.ok(said.length <= patient(1), 'said once a minute')
})

t.test('a limit that is too low is said in one line', { skip }, async t => {
  const program = serve(t, 64, ['--etcd', 'embedded', '--listen', 'http://127.0.0.1:0'])
  t.equal(await program.code, 1)
  t.match(program.text, /^watchglass: the process may open 64 files.*ulimit -n[^\n]*$/)
})
