"""Disparity from single images without ground truth: the right view is warped into the left one and compared."""
from types import SimpleNamespace

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class StereoScenes(Dataset):
    """Vertical stripes on a wall; near walls are shifted more between the two views, and are brighter."""

    def __init__(self, n, tensor_type, height=12, width=32):
        self.pairs = []
        for _ in range(n):
            nearness = np.random.uniform(0.0, 1.0)
            x = np.arange(width) + np.random.uniform(0, 20)
            shift = 4.0 * nearness
            brightness = 0.3 + 0.7 * nearness
            left = brightness * (0.6 + 0.4 * np.sin(0.5 * x))
            right = brightness * (0.6 + 0.4 * np.sin(0.5 * (x + shift)))
            views = [np.tile(view, (height, 1))[None] for view in (left, right)]
            self.pairs.append([torch.from_numpy(view).type(tensor_type) for view in views])

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, index):
        left, right = self.pairs[index]
        return {"left_image": left, "right_image": right}


class MonodepthLoss(nn.Module):
    def __init__(self, n=2, disp_gradient_w=0.1, tensor_type="torch.DoubleTensor"):
        super().__init__()
        self.n = n
        self.disp_gradient_w = disp_gradient_w
        self.tensor_type = tensor_type

    def scale_pyramid(self, img):
        return [img] + [F.avg_pool2d(img, 2 ** i) for i in range(1, self.n)]

    def apply_disparity(self, img, disp):
        batch_size, _, height, width = img.size()

        # Original coordinates of pixels
        x_base = torch.linspace(-1, 1, width).repeat(batch_size, height, 1).type(self.tensor_type)
        y_base = torch.linspace(-1, 1, height).repeat(batch_size, width, 1).transpose(1, 2).type(self.tensor_type)

        # Shift in X direction; disparities are fractions of the width
        flow_field = torch.stack((x_base + 2 * disp[:, 0], y_base), dim=3)
        return F.grid_sample(img, flow_field, padding_mode="border", align_corners=True)

    def forward(self, disps, left, right):
        total = 0.0
        for disp, left_i, right_i in zip(disps, self.scale_pyramid(left), self.scale_pyramid(right)):
            estimate = self.apply_disparity(right_i, -disp)
            smoothness = (disp[..., :-1] - disp[..., 1:]).abs().mean()
            total = total + (estimate - left_i).abs().mean() + self.disp_gradient_w * smoothness
        return total


class DispNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Conv2d(1, 12, 5, padding=2), nn.ELU(), nn.Conv2d(12, 12, 3, padding=1), nn.ELU())
        self.fine = nn.Conv2d(12, 1, 3, padding=1)
        self.coarse = nn.Conv2d(12, 1, 3, padding=1)

    def forward(self, x):
        h = self.encode(x)
        return [0.2 * torch.sigmoid(self.fine(h)), 0.2 * torch.sigmoid(self.coarse(F.avg_pool2d(h, 2)))]


class Model:
    def __init__(self, args):
        self.args = args
        scenes = StereoScenes(args.scenes, args.tensor_type)
        print("Use a dataset with", len(scenes), "images")
        self.train_loader = DataLoader(scenes, batch_size=args.batch_size, shuffle=True)
        # Set up model
        self.loss_function = MonodepthLoss(disp_gradient_w=0.05)
        self.model = DispNet().type(args.tensor_type)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.learning_rate)

    def train(self):
        for epoch in range(1, self.args.epochs + 1):
            losses = []
            for data in self.train_loader:
                left, right = data["left_image"], data["right_image"]
                self.optimizer.zero_grad()
                loss = self.loss_function(self.model(left), left, right)
                loss.backward()
                self.optimizer.step()
                losses.append(loss.item())
            print("Epoch:", epoch, "train_loss:", round(float(np.mean(losses)), 4))


Model(SimpleNamespace(scenes=96, batch_size=16, epochs=6, learning_rate=5e-3, tensor_type="torch.FloatTensor")).train()
