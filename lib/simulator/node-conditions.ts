/** The conditions that a kubelet reports of a healthy node. */

interface NodeCondition {
  readonly type: string
  readonly status: 'True' | 'False'
  readonly reason: string
  readonly message: string
}

const condition = (
  type: string,
  status: NodeCondition['status'],
  reason: string,
  message: string,
): NodeCondition => ({ type, status, reason, message })

export const healthyNodeConditions: readonly NodeCondition[] = [
  condition(
    'MemoryPressure',
    'False',
    'KubeletHasSufficientMemory',
    'kubelet has sufficient memory available',
  ),
  condition('DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'),
  condition(
    'PIDPressure',
    'False',
    'KubeletHasSufficientPID',
    'kubelet has sufficient PID available',
  ),
  condition('Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'),
]
