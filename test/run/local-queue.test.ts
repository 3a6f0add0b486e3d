import { createLocalQueue } from '../../src/run/task-queue.ts'
import { describeTaskQueue } from '../contract/task-queue.ts'

describeTaskQueue('in this process', createLocalQueue)
