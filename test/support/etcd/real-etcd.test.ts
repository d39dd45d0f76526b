import t from 'tap'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { startEtcd } from './etcd-cluster.ts'
import { findEtcd, findEtcdctl } from './real-etcd.ts'

const run = promisify(execFile)
const etcd = await findEtcd('3.5')
const oldEtcd = await findEtcd('3.4')
const etcdctl = await findEtcdctl()
const skip = etcd.skip || oldEtcd.skip || etcdctl.skip

async function ctl(endpoints: readonly string[], ...args: string[]): Promise<string> {
  const { stdout } = await run(etcdctl.binary, [`--endpoints=${endpoints.join(',')}`, ...args])
  return stdout
}

t.test('a member that was killed and restarted has its data', { skip }, async t => {
  const cluster = await startEtcd(t, etcd)
  await ctl(cluster.endpoints, 'put', 'a', '1')
  await cluster.members[0]!.kill()
  await cluster.members[0]!.restart()
  t.equal(await ctl(cluster.endpoints, 'get', 'a'), 'a\n1\n')
})

t.test('three members go on without one of them', { skip }, async t => {
  const cluster = await startEtcd(t, etcd, { members: 3 })
  cluster.members[0]!.pause()
  const others = cluster.endpoints.slice(1)
  // The member that is away may have been the leader: until there is another one, etcd says that it
  // took too long.
  const put = (): Promise<string> => ctl(others, '--command-timeout=20s', 'put', 'a', '1')
  await put().catch(put).catch(put)
  cluster.members[0]!.resume()
  t.equal(await ctl(others, 'get', 'a', '--print-value-only'), '1\n')
})

t.test('the old etcd is one of 3.4', { skip }, async t => {
  const cluster = await startEtcd(t, oldEtcd)
  t.match(await ctl(cluster.endpoints, 'endpoint', 'status'), /, 3\.4\./)
})

t.test('nothing is left of a cluster after its test, even one killed', { skip }, async t => {
  const script = `
    import { startEtcd } from ${JSON.stringify(new URL('./etcd-cluster.js', import.meta.url))}
    const cluster = await startEtcd({ teardown() {} }, ${JSON.stringify(etcd)})
    process.stdout.write(String(cluster.members[0].processId))
    process.kill(process.pid, 'SIGKILL')`
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script]).catch(
    (error: unknown) => error as { stdout: string },
  )
  t.match(stdout, /^\d+$/)
  const folder = `/proc/${stdout}`
  for (let i = 0; i < 400 && existsSync(folder); i++) {
    await new Promise(resolve => setTimeout(resolve, 25))
  }
  t.notOk(existsSync(folder))
})
