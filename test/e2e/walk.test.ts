/** A walk as a new user would go it, on what `npm start` serves: scale what is generated, drain a
 *  node with a budget, break a rollout and undo it, delete a namespace, and look at the events
 *  beside each step. kubectl says when a step is done. */

import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { findKubectl } from '../support/etcd/real-etcd.ts'
import { patient } from '../support/patience.ts'
import { startProgram } from '../support/program/program.ts'

t.setTimeout(patient(120_000))

const { binary, skip } = await findKubectl()
const run = promisify(execFile)
const home = mkdtempSync(join(tmpdir(), 'watchglass-walk-'))
const env = { PATH: process.env['PATH'] ?? '', HOME: home }

/** The options of `npm start`, and images that are missing. */
function startOptions(): string[] {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    readonly scripts: { readonly start: string }
  }
  const [, options = ''] = scripts.start.split(' serve ')
  return [...options.split(' '), '--fault=image-pull,image=missing:*']
}

t.test('a walk through what npm start serves', { skip }, async t => {
  const { address } = await startProgram(t, startOptions())
  const kubectl = (command: string): Promise<string> =>
    run(binary, ['--server', address, ...command.split(' ')], { env }).then(
      ({ stdout, stderr }) => `${stdout}${stderr}`,
      ({ stdout, stderr }: { stdout: string; stderr: string }) => `${stdout}${stderr}`,
    )
  const step = async (command: string, ...says: readonly RegExp[]): Promise<string> => {
    const said = await kubectl(command)
    for (const one of says) t.match(said, one, `kubectl ${command}`)
    return said
  }
  /** Asks until it says so: events are written after what they are about. */
  const until = async (command: string, says: RegExp): Promise<void> => {
    let said = ''
    while (!says.test((said = await kubectl(command))));
    t.match(said, says, `kubectl ${command}`)
  }

  const [name = ''] = (
    await step('get deployments -o jsonpath={.items[*].metadata.name}', /^\S+/)
  ).split(' ')
  const rolledOut = `rollout status deployment/${name} --timeout=100s`
  const about = `--field-selector=involvedObject.name=${name}`
  await step(`scale deployment ${name} --replicas=5`, /scaled/)
  await step(rolledOut, /successfully rolled out/)
  await until(`get events ${about}`, /ScalingReplicaSet.*Scaled down replica set \S+ from \d+ to 5/)

  await step(`create pdb keep --selector=app=${name} --min-available=3`, /created/)
  await step('wait pdb/keep --for=jsonpath={.status.disruptionsAllowed}=2 --timeout=100s', /met/)
  const pods = `get pods -l app=${name} -o jsonpath={.items[*].spec.nodeName}`
  const [node = ''] = (await step(pods, /^\S+/)).split(' ')
  const drain = '--ignore-daemonsets --delete-emptydir-data --force --timeout=100s'
  await step(`drain ${node} ${drain}`, /cordoned/, new RegExp(`pod/${name}-`), /drained/)
  t.notOk((await kubectl(pods)).split(' ').includes(node), 'its pods are elsewhere')
  await until('get events --field-selector=reason=Killing', new RegExp(`Killing +pod/${name}-`))
  await step(`uncordon ${node}`, /uncordoned/)

  const container = await step(
    `get deployment ${name} -o jsonpath={.spec.template.spec.containers[0].name}`,
  )
  await step(`set image deployment/${name} ${container}=missing:1`, /image updated/)
  await until(`get pods -l app=${name}`, /ErrImagePull|ImagePullBackOff/)
  await until('get events --field-selector=reason=Failed', /Failed to pull image "missing:1"/)
  await step(`rollout undo deployment/${name}`, /rolled back/)
  await step(rolledOut, /successfully rolled out/)
  await step(`get deployment ${name}`, new RegExp(`${name} +5/5 +5 +5 `))

  const [namespace = ''] = (
    await step('get deployments -A -o jsonpath={.items[*].metadata.namespace}', /\S/)
  )
    .split(' ')
    .filter(one => one !== 'default')
  await step(`delete namespace ${namespace} --timeout=100s`, /deleted/)
  await step(`get all -n ${namespace}`, /No resources found/)
})
