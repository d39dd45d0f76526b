/** The commands of kubectl, as people use them, on what `--simulate all` makes up: each with what
 *  it prints. They are run in their order, in one cluster. */

import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { findKubectl } from '../support/etcd/real-etcd.ts'
import { startProgram } from '../support/program/program.ts'

const { binary, skip } = await findKubectl()
const home = mkdtempSync(join(tmpdir(), 'watchglass-kubectl-simulated-'))
const run = promisify(execFile)

/** The command, and what it says; several of them if it says more than one thing. */
type Row = readonly [command: string, ...says: readonly RegExp[]]

const rolledOut: Row = ['rollout status deployment/web --timeout=60s', /successfully rolled out/]

const workloads: readonly Row[] = [
  ['get nodes', /node-1 +Ready +<none> +\d+s +v1\.\d+\.\d+/],
  ['create deployment web --image=nginx:1 --replicas=3', /deployment.apps\/web created/],
  rolledOut,
  ['expose deployment web --port=80', /service\/web exposed/],
  ['scale deployment web --replicas=4', /scaled/],
  rolledOut,
  ['set image deployment/web nginx=nginx:2', /image updated/],
  ['annotate deployment web kubernetes.io/change-cause=two', /annotated/],
  rolledOut,
  ['rollout history deployment/web', /1 +<none>\n2 +two/],
  ['rollout undo deployment/web', /rolled back/],
  rolledOut,
  ['get deployment web -o jsonpath={.spec.template.spec.containers[0].image}', /^nginx:1$/],
  ['rollout pause deployment/web', /paused/],
  ['rollout resume deployment/web', /resumed/],
  ['rollout restart deployment/web', /restarted/],
  rolledOut,
  ['autoscale deployment web --min=4 --max=6', /autoscaled/],
  ['get hpa web', /Deployment\/web +cpu: <unknown>\/80% +4 +6/],
  ['describe hpa web', /missing request for cpu in container nginx of Pod web-/],
  ['set resources deployment web --requests=cpu=100m', /requirements updated/],
  rolledOut,
  ['wait hpa/web --for=condition=ScalingActive --timeout=60s', /condition met/],
  ['get hpa web', /Deployment\/web +cpu: \d+%\/80% +4 +6 +4/],
  ['describe deployment web', /ScalingReplicaSet .*deployment-controller +Scaled up/],
  ['describe service web', /Endpoints: +10\.\d+\.\d+\.\d+:80/],
  ['get endpointslices -l kubernetes.io/service-name=web', /IPv4 +80 +10\./],
  ['events --for=deployment/web', /ScalingReplicaSet/],
  ['get events --field-selector=reason=Started', /Container started/],
]

const pods: readonly Row[] = [
  ['run one --image=busybox --restart=Never', /pod\/one created/],
  ['wait pod/one --for=jsonpath={.status.phase}=Succeeded --timeout=60s', /condition met/],
  ['logs one', /container one \(busybox\) was started: it is made up/, /exit code 0/],
  ['run own --image=busybox --annotations=watchglass.local/logs=hello', /created/],
  ['wait pod/own --for=condition=Ready --timeout=60s', /condition met/],
  ['logs own', /^hello\n$/],
  ['logs -f own', /^hello\n$/],
  ['logs deployment/web --tail=1', /container nginx \(nginx:1\) was started/],
  ['describe pod own', /Scheduled/, /Pulled/, /Created/, /Started/],
  ['exec own -- hostname', /^own\n$/],
  ['exec own -- sh -c false||echo', /^\n$/],
  ['exec own -- false', /command terminated with exit code 1/],
  [
    'exec own -- vi',
    /"vi": executable file not found in \$PATH: no program runs in a simulated pod/,
  ],
  ['exec own -c other -- ls', /container other is not valid for pod own/],
  ['attach own', /hello/],
  ['port-forward own 0:80', /portforward of "pods" needs a kubelet/],
  ['cp /etc/hostname own:/tmp/x', /"tar": executable file not found in \$PATH/],
  ['debug own --image=busybox', /Defaulting debug container name to debugger-/],
  ['wait pod/own --for=jsonpath={.status.ephemeralContainerStatuses[0].state.running}', /met/],
  ['annotate pod own watchglass.local/usage-cpu=250m watchglass.local/usage-memory=64Mi', /own/],
  ['top pods', /own +250m +64Mi/, /web-\S+ +\d+m +\d+Mi/],
  ['top pods own --containers', /own +own +250m +64Mi/],
  ['top pods -l app=web --sort-by=cpu', /web-\S+ +\d+m +\d+Mi/],
  ['top pods nowhere', /pods.metrics.k8s.io "nowhere" not found/],
  ['top nodes', /node-1 +\d+m +\d+% +\d+Mi +\d+%/],
  ['run picky --image=i --overrides={"spec":{"nodeSelector":{"a":"b"}}}', /created/],
  ['wait pod/picky --for=condition=PodScheduled=false --timeout=60s', /condition met/],
  ['describe pod picky', /FailedScheduling .*0\/3 nodes are available: 3 node\(s\) didn't match/],
]

/** Objects of kwok, for the pods `ruled`. */
const rules = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterLogs
metadata: { name: ruled }
spec:
  selector: { matchNames: [ruled] }
  logs:
  - logsFile: ${join(home, 'ruled.log')}
    previousLogsFile: ${join(home, 'before.log')}
    follow: true
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Attach
metadata: { name: ruled }
spec: { attaches: [{ logsFile: ${join(home, 'before.log')} }] }
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterExec
metadata: { name: ruled }
spec:
  selector: { matchNames: [ruled] }
  execs: [{ local: { workDir: /work, envs: [{ name: TEST, value: test }] } }]
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterResourceUsage
metadata: { name: ruled }
spec:
  selector: { matchNames: [ruled] }
  usages:
  - usage:
      cpu: { expression: 'Quantity(pod.metadata.annotations["cores"]) * 2' }
      memory: { value: 12Mi }
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: PortForward
metadata: { name: ruled }
spec: { forwards: [{ ports: [80], target: { address: 127.0.0.1, port: PORT } }] }
`
const log = `2026-01-01T00:00:00Z stdout F one
2026-01-01T00:00:01Z stdout P tw
2026-01-01T00:00:01Z stdout F o
`

const ruled: readonly Row[] = [
  ['run ruled --image=busybox --annotations=cores=150m', /created/],
  ['wait pod/ruled --for=condition=Ready --timeout=60s', /condition met/],
  ['logs ruled', /^one\ntwo\n$/],
  ['logs -f ruled --tail=1 --timestamps', /^2026-01-01T00:00:01Z two\n$/],
  ['logs ruled --since-time=2026-01-01T00:00:01Z', /^two\n$/],
  ['logs -p ruled', /^before\n$/],
  ['attach ruled', /before/],
  ['exec ruled -- printenv TEST', /^test\n$/],
  ['exec ruled -- pwd', /^\/work\n$/],
  ['exec ruled -- vi', /no program runs in a simulated pod/],
  ['top pods ruled', /ruled +300m +12Mi/],
]

/** Older clients speak SPDY. */
const spdy = {
  KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false',
  KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false',
}
const overSpdy: readonly Row[] = [
  ['exec ruled -- hostname', /^ruled\n$/],
  ['exec ruled -- false', /command terminated with exit code 1/],
  ['exec ruled -- cat /nothing', /^cat: \/nothing: No such file or directory\n/],
  ['attach ruled', /before/],
]

const nodes: readonly Row[] = [
  ['create pdb web --selector=app=web --min-available=3', /created/],
  ['wait pdb/web --for=condition=DisruptionAllowed --timeout=60s', /condition met/],
  ['get pdb web', /web +3 +N\/A +1 /],
  ['cordon node-1', /node\/node-1 cordoned/],
  ['get node node-1', /Ready,SchedulingDisabled/],
  ['drain node-1 --ignore-daemonsets --force --timeout=120s', /node\/node-1 drained/],
  ['get pods -l app=web --field-selector=spec.nodeName=node-1', /No resources found/],
  ['uncordon node-1', /uncordoned/],
  ['taint node node-2 broken=yes:NoExecute', /tainted/],
  [
    'wait pod -l app=web --for=jsonpath={.status.phase}=Running --field-selector=spec.nodeName!=node-2 --timeout=60s',
    /condition met/,
  ],
  ['taint node node-2 broken-', /untainted/],
]

const others: readonly Row[] = [
  ['create job done --image=busybox', /job.batch\/done created/],
  ['wait job/done --for=condition=Complete --timeout=60s', /condition met/],
  ['describe job done', /SuccessfulCreate +\d+s +job-controller +Created pod: done-/, /Completed/],
  ['create cronjob often --image=busybox --schedule=@hourly', /created/],
  ['create job now --from=cronjob/often', /job.batch\/now created/],
  ['wait job/now --for=condition=Complete --timeout=60s', /condition met/],
  ['get cronjob often', /often +@hourly +<none> +False +0 +<none>/],
  ['delete deployment web', /deleted/],
  ['wait pod -l app=web --for=delete --timeout=60s', /condition met|^$/],
  ['create namespace gone', /created/],
  ['create deployment web -n gone --image=nginx', /created/],
  ['delete namespace gone --timeout=60s', /namespace "gone" deleted/],
]

/** The answer behind a port that is forwarded as long as it is asked. */
async function forwarded(words: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  const child = spawn(binary, words, { env })
  try {
    let said = ''
    for await (const piece of child.stdout) {
      said += String(piece)
      const [, port] = /127\.0\.0\.1:(\d+) -> 80/.exec(said) ?? []
      if (port === undefined) continue
      const answer = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } })
      return await answer.text()
    }
    return said
  } finally {
    child.kill()
  }
}

t.test('kubectl on simulated pods and nodes', { skip }, async t => {
  const rulesFile = join(home, 'rules.yaml')
  const web = createServer((_, response) => response.end('of the target'))
  await new Promise<void>(resolve => web.listen(0, '127.0.0.1', resolve))
  t.teardown(() => web.close())
  writeFileSync(rulesFile, rules.replace('PORT', String((web.address() as AddressInfo).port)))
  writeFileSync(join(home, 'ruled.log'), log)
  writeFileSync(join(home, 'before.log'), 'before\n')
  const { address } = await startProgram(t, ['--simulate=all', `--stages=${rulesFile}`])
  const env = { PATH: process.env['PATH'] ?? '', HOME: home }
  const kubectl = (words: readonly string[]): Promise<string> =>
    run(binary, ['--server', address, ...words], { env }).then(
      ({ stdout, stderr }) => `${stdout}${stderr}`,
      ({ stdout, stderr }: { stdout: string; stderr: string }) => `${stdout}${stderr}`,
    )
  // Nodes are made one after the other, once everything is mirrored.
  while (!/node-3 +Ready/.test(await kubectl(['get', 'nodes'])));
  const runAll = async (rows: readonly Row[]): Promise<void> => {
    for (const [command, ...says] of rows) {
      const said = await kubectl(command.split(' '))
      for (const one of says) t.match(said, one, `kubectl ${command}`)
    }
  }
  await runAll([...workloads, ...pods, ...ruled])
  const words = ['--server', address, 'port-forward', 'ruled', ':80']
  t.equal(await forwarded(words, env), 'of the target')
  Object.assign(env, spdy)
  await runAll(overSpdy)
  t.equal(await forwarded(words, env), 'of the target', 'over SPDY')
  await runAll([...nodes, ...others])
})
